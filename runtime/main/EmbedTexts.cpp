// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lines to rows, some hundreds at a time: made on all threads, written in their order.
#include "main/EmbedTexts.h"
#include "base/Team.h"
#include "io/Npy.h"
#include "main/LineJob.h"
#include "main/RowFile.h"
#include <atomic>
#include <cmath>
#include <cstdio>

using namespace attn;

namespace {

/// What has become of a line.
struct Made {
  attn_status status;
  char *message; ///< what is wrong with it, for attn_message_free
};

/// The vectors of all lines.
class Embedding {
public:
  Embedding(const PromptRun &run, const attn_tokenizer &tokenizer, Error &error)
      : run(run), command(*run.command), tokenizer(tokenizer), error(error) {}
  ~Embedding();
  attn_status embed(Slice bytes);

private:
  attn_status prepare(Slice bytes);
  attn_status openFile();
  attn_status makeAll();
  attn_status makeChunk(int64_t begin, int64_t end);
  attn_status keep(int64_t begin, int64_t end);
  attn_status finish();
  attn_status printCosines() const;
  attn_status checkLast();
  attn_status say(int64_t line, const Made &made);
  bool appendRow(int64_t line, Vector<char> &bytes) const;
  /// Makes the vectors that no other thread has taken.
  void work(int64_t thread);
  void make(attn_context *context, int64_t line);
  /// The text of a line, and its id as it stands there.
  bool read(int64_t number, LineFields &fields, Line &line, Error &problem) const;

  static constexpr int64_t chunkSize = 512;
  const PromptRun &run;
  const Command &command;
  const attn_tokenizer &tokenizer;
  Error &error;
  Vector<Slice> lines;
  bool isJson = false, writesJson = false;
  int64_t width = 0, failures = 0;
  RowFile file;
  const Setting *output = nullptr; ///< of the file of rows; null where rows stay in memory
  // Of the chunk that is made:
  int64_t first = 0, last = 0;
  std::atomic<int64_t> next{0};
  Vector<float> values; ///< of a chunk, or of all lines where they stay in memory
  Vector<Made> made;
  Vector<attn_context *> contexts; ///< one for each thread, with no thread beside it
};

} // namespace

Embedding::~Embedding() {
  for (const Made &one : made)
    attn_message_free(one.message);
  for (attn_context *context : contexts)
    attn_context_destroy(context);
}

static bool isJsonFile(const char *path) { return path && Slice(path).endsWith(Slice(".jsonl")); }

attn_status Embedding::prepare(Slice bytes) {
  const attn_abi_model &tables = *run.model->tables;
  const attn_abi_entry &entry = tables.entries[run.entry];
  if (command.prompt && !lines.push(bytes))
    return error.outOfMemory("lines");
  while (!command.prompt && bytes.size > 0)
    if (!lines.push(bytes.takeLine()))
      return error.outOfMemory("lines");
  isJson = !command.prompt && isJsonFile(command.promptFile);
  if (lines.empty() || (command.isPairs && lines.size() % 2 != 0))
    return error.set(ATTN_BAD_INPUT, "R0214", "`%s` has %zu lines, expected %s", command.promptFile,
                     lines.size(), command.isPairs ? "two for each pair" : "at least one");
  if (entry.outputCount == 0 || entry.outputs[0].rank != 2) {
    float *values = nullptr;
    char *message = nullptr;
    int64_t count = 0;
    attn_status status = attn_text_embed(run.context, run.entry, &tokenizer, "", 0, 0, &values,
                                         &count, &message); // says what such an entry is
    free(values);
    error.take(status ? status : ATTN_INVALID_ARGUMENT, message);
    attn_message_free(message);
    return error.status;
  }
  const attn_abi_axis &axis = entry.outputs[0].axes[1];
  width = axis.offset + (axis.dim < 0 ? 0 : axis.scale * tables.dims[axis.dim].value);
  // One text takes a thread at most where there are enough of them.
  bool areMany = command.gpu < 0 && lines.size() >= 2 * size_t(run.context->team.size());
  if (!contexts.resize(areMany ? size_t(run.context->team.size()) : 0))
    return error.outOfMemory("contexts");
  return openFile();
}

attn_status Embedding::openFile() {
  const attn_abi_entry &entry = run.model->tables->entries[run.entry];
  for (const Setting &setting : command.outputs)
    if (!command.isPairs && Slice(setting.name, size_t(setting.length)).is(entry.outputs[0].name))
      output = &setting;
  writesJson = output && isJsonFile(output->value);
  bool isLasting = output && !command.prompt && strcmp(output->value, "-") != 0 &&
                   !isWrittenInPlace(output->value);
  if (!isLasting && command.resumes) {
    error.set(ATTN_INVALID_ARGUMENT, "U0002", "`--resume` goes on with a file");
    error.help("pass `--file FILE` and `--output %s=FILE`", entry.outputs[0].name);
    return error.status;
  }
  if (!isLasting && !writesJson) {
    output = nullptr;
    return ATTN_OK;
  }
  Text head;
  attn_tensor rows = {nullptr, ATTN_F32, 2, {int64_t(lines.size()), width}, nullptr, 0, 0};
  if (!writesJson && !appendNpyHeader(rows, head))
    return error.outOfMemory("a header");
  if (attn_status status = file.open(output->value, head, writesJson ? 0 : size_t(width) * 4,
                                     command.resumes, error))
    return status;
  if (file.rows() > int64_t(lines.size()))
    return error.set(ATTN_BAD_INPUT, "R0304", "`%s` has %lld rows, but `%s` has %zu lines",
                     file.part(), static_cast<long long>(file.rows()), command.promptFile,
                     lines.size());
  return ATTN_OK;
}

bool Embedding::read(int64_t number, LineFields &fields, Line &line, Error &problem) const {
  line.source = lines[size_t(number)];
  if (isJson)
    return line.read("text", fields, problem) == ATTN_OK;
  if (append(fields.text, line.source))
    return true;
  problem.outOfMemory("a text");
  return false;
}

void Embedding::make(attn_context *context, int64_t line) {
  Made &own = made[size_t(line - first)];
  float *row = values.data() + (line - (output ? first : 0)) * width, *vector = nullptr;
  int64_t count = 0;
  LineFields fields;
  Line read;
  Error problem;
  if (!this->read(line, fields, read, problem))
    own.status = problem.report(&own.message);
  else
    own.status =
        attn_text_embed(context, run.entry, &tokenizer, fields.text.data(), fields.text.size(),
                        command.truncates, &vector, &count, &own.message);
  for (int64_t i = 0; i < width; ++i)
    row[i] = own.status == ATTN_OK && i < count ? vector[i] : NAN;
  free(vector);
}

void Embedding::work(int64_t thread) {
  attn_context *&context = contexts[size_t(thread)];
  char *message = nullptr;
  attn_status status =
      context ? ATTN_OK : attn_context_create(run.context->model, 1, &context, &message);
  for (int64_t line; (line = next.fetch_add(1)) < last;)
    if (status == ATTN_OK)
      make(context, line);
    else
      made[size_t(line - first)] = {status, message ? strdup(message) : nullptr};
  attn_message_free(message);
}

attn_status Embedding::makeChunk(int64_t begin, int64_t end) {
  for (Made &one : made)
    attn_message_free(one.message);
  made.clear();
  if (!made.resize(size_t(end - begin)) ||
      !values.resize(size_t((output ? end - begin : int64_t(lines.size())) * width)))
    return error.outOfMemory("vectors");
  first = begin, last = end;
  if (contexts.empty()) {
    for (int64_t line = begin; line < end; ++line)
      make(run.context, line);
    return ATTN_OK;
  }
  next.store(begin);
  if (!run.context->team.prepare())
    return error.set(ATTN_OUT_OF_MEMORY, "R0402", "the system gives no %d threads",
                     int(run.context->team.size()));
  run.context->team.run(
      [](void *self, int64_t thread) { static_cast<Embedding *>(self)->work(thread); }, this);
  return ATTN_OK;
}

/// Says what is wrong with a line, or that it has no vector.
attn_status Embedding::say(int64_t line, const Made &made) {
  const char *message = made.message ? made.message : "error[R0401]: no memory";
  const char *colon = strstr(message, "]: ");
  Slice code(message, colon ? size_t(colon - message) + 3 : 0);
  Text text;
  text.append("%.*s", int(code.size), code.data);
  if (!command.prompt && made.status == ATTN_BAD_INPUT) {
    text.append("`");
    text.appendQuoted(command.promptFile, strlen(command.promptFile));
    text.append(":%lld`: ", static_cast<long long>(line) + 1);
  }
  text.append("%s", message + code.size);
  bool isSkipped = command.skipsErrors && made.status == ATTN_BAD_INPUT;
  if (isSkipped) {
    const char *newline = strchr(text.c_str(), '\n');
    const char *said = text.c_str() + code.size;
    fprintf(stderr, "note: %.*s; its vector is NaN\n",
            newline ? int(newline - said) : int(strlen(said)), said);
    ++failures;
    return ATTN_OK;
  }
  error.take(made.status, text.c_str());
  if (!command.prompt && made.status == ATTN_BAD_INPUT)
    error.help("`--skip-errors` gives such lines a row of NaN");
  if (output && file.rows() > 0)
    error.note("`%s` has the rows before it (%lld): with `--resume` they are not made again",
               file.part(), static_cast<long long>(file.rows()));
  return error.status;
}

bool Embedding::appendRow(int64_t line, Vector<char> &bytes) const {
  const float *row = values.data() + (line - first) * width;
  if (!writesJson)
    return bytes.append(reinterpret_cast<const char *>(row), size_t(width) * sizeof *row);
  LineFields fields;
  Line own;
  Error problem;
  Text result;
  read(line, fields, own, problem);
  if (isJson)
    result.append("{\"id\": %.*s, \"vector\": ", own.id.size ? int(own.id.size) : 4,
                  own.id.size ? own.id.data : "null");
  else
    result.append("{\"line\": %lld, \"vector\": ", static_cast<long long>(line) + 1);
  if (made[size_t(line - first)].status)
    result.append("null");
  for (int64_t i = 0; i < width && !made[size_t(line - first)].status; ++i)
    result.append(i ? ", %.9g" : "[%.9g", double(row[i]));
  result.append(made[size_t(line - first)].status ? "}\n" : "]}\n");
  return !result.failed() && bytes.append(result.c_str(), result.size());
}

/// Keeps the rows of a chunk up to the first line that is an error.
attn_status Embedding::keep(int64_t begin, int64_t end) {
  Vector<char> bytes;
  int64_t line = begin;
  const Made *wrong = nullptr;
  for (; line < end && !wrong; ++line) {
    const Made &one = made[size_t(line - begin)];
    bool isSkipped = command.skipsErrors && one.status == ATTN_BAD_INPUT;
    if (one.status && !isSkipped)
      wrong = &one;
    else if (output && !appendRow(line, bytes))
      return error.outOfMemory("rows");
    if (one.status && isSkipped)
      say(line, one);
  }
  int64_t kept = line - begin - (wrong != nullptr);
  if (output)
    if (attn_status status = file.append(bytes.data(), bytes.size(), kept, error))
      return status;
  return wrong ? say(line - 1, *wrong) : ATTN_OK;
}

/// The last row of a run before has to be what its line gives.
attn_status Embedding::checkLast() {
  Vector<char> there, wanted;
  int64_t line = file.rows() - 1;
  if (file.readLast(there, error) || makeChunk(line, line + 1))
    return error.status;
  if (!appendRow(line, wanted))
    return error.outOfMemory("a row");
  if (Slice(there) == Slice(wanted)) {
    fprintf(stderr, "note: %lld rows were in `%s`\n", static_cast<long long>(file.rows()),
            file.part());
    return ATTN_OK;
  }
  error.set(ATTN_BAD_INPUT, "R0304",
            "`%s` was begun with other texts, weights or options: its row %lld is not that of "
            "`%s:%lld`",
            file.part(), static_cast<long long>(line) + 1, command.promptFile,
            static_cast<long long>(line) + 1);
  error.help("remove it, or leave out `--resume`, to begin anew");
  return error.status;
}

attn_status Embedding::makeAll() {
  auto count = int64_t(lines.size());
  int64_t begin = output ? file.rows() : 0;
  if (begin > 0 && checkLast())
    return error.status;
  for (int64_t end; begin < count; begin = end) {
    end = begin + chunkSize < count ? begin + chunkSize : count;
    if (makeChunk(begin, end) || keep(begin, end))
      return error.status;
  }
  if (failures > 0)
    fprintf(stderr, "note: %lld of %lld lines have no vector\n", static_cast<long long>(failures),
            static_cast<long long>(count));
  return ATTN_OK;
}

/// The cosine of the angle between two vectors.
static double cosine(const float *a, const float *b, int64_t count) {
  double product = 0, ofA = 0, ofB = 0;
  for (int64_t i = 0; i < count; ++i) {
    product += double(a[i]) * double(b[i]);
    ofA += double(a[i]) * double(a[i]), ofB += double(b[i]) * double(b[i]);
  }
  return ofA > 0 && ofB > 0 ? product / std::sqrt(ofA * ofB) : ofA + ofB >= 0 ? 0 : NAN;
}

attn_status Embedding::printCosines() const {
  for (size_t line = 0; line < lines.size(); line += 2) {
    const float *pair = values.data() + int64_t(line) * width;
    printf("%.4f\n", cosine(pair, pair + width, width));
  }
  return ATTN_OK;
}

attn_status Embedding::finish() {
  if (output)
    return file.commit(error);
  if (command.isPairs)
    return printCosines();
  Tensors outputs;
  if (!outputs.list.resize(1))
    return error.outOfMemory("vectors");
  attn_tensor &tensor = outputs.list[0];
  tensor.dtype = ATTN_F32, tensor.rank = 2;
  tensor.shape[0] = int64_t(lines.size()), tensor.shape[1] = width;
  tensor.data = values.data();
  return writeOutputs(command, run.model->tables->entries[run.entry], 1, Labels(), outputs, error);
}

attn_status Embedding::embed(Slice bytes) {
  if (prepare(bytes) || makeAll())
    return error.status;
  return finish();
}

attn_status attn::embedTexts(const PromptRun &run, const attn_tokenizer &tokenizer, Slice bytes,
                             Error &error) {
  return Embedding(run, tokenizer, error).embed(bytes);
}
