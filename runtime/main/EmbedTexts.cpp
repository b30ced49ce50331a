// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The lines of a text file to rows, by windows of lines.
#include "main/EmbedTexts.h"
#include "io/Npy.h"
#include "main/LineFile.h"
#include "main/LineTexts.h"
#include "main/LineWindow.h"
#include "main/RowFile.h"
#include <cmath>
#include <cstdio>

using namespace attn;

namespace {

/// The vectors of all lines.
class Embedding {
public:
  Embedding(const PromptRun &run, const attn_tokenizer &tokenizer, Error &error)
      : run(run), command(*run.command), error(error), texts{run, tokenizer},
        window(run, work, error) {}
  attn_status embed();

private:
  attn_status openLines();
  attn_status openFile();
  attn_status readWindow(int64_t begin, int64_t end);
  attn_status checkLast();
  attn_status makeAll();
  attn_status keepWindow();
  attn_status finish();
  attn_status printCosines() const;
  attn_status say(const Line &line);
  bool appendRow(const Line &line, Vector<char> &bytes) const;

  const PromptRun &run;
  const Command &command;
  Error &error;
  TextLines texts;
  LineWork work;
  LineFile input;
  bool isJson = false, writesJson = false;
  int64_t count = 0, failures = 0;
  RowFile file;
  const Setting *output = nullptr; ///< of the file of rows; null where rows stay in memory
  Vector<float> values;            ///< of all lines where they stay in memory
  Vector<char> bytes;              ///< of the window
  Vector<Slice> sources;
  LineWindow window;
};

} // namespace

static bool isJsonFile(const char *path) { return path && Slice(path).endsWith(Slice(".jsonl")); }

attn_status Embedding::openLines() {
  if (!command.prompt && input.open(command.promptFile, error))
    return error.status;
  count = command.prompt ? 1 : input.lines();
  isJson = !command.prompt && isJsonFile(command.promptFile);
  texts.arePlain = !isJson;
  if (count == 0 || (command.isPairs && count % 2 != 0))
    return error.set(ATTN_BAD_INPUT, "R0214", "`%s` has %lld lines, expected %s",
                     command.promptFile, static_cast<long long>(count),
                     command.isPairs ? "two for each pair" : "at least one");
  return texts.prepare(nullptr, work, error);
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
  attn_tensor rows = {nullptr, ATTN_F32, 2, {count, work.width}, nullptr, 0, 0};
  if (!writesJson && !appendNpyHeader(rows, head))
    return error.outOfMemory("a header");
  if (attn_status status = file.open(output->value, head, writesJson ? 0 : size_t(work.width) * 4,
                                     command.resumes, error))
    return status;
  if (file.rows() > count)
    return error.set(ATTN_BAD_INPUT, "R0304", "`%s` has %lld rows, but `%s` has %lld lines",
                     file.part(), static_cast<long long>(file.rows()), command.promptFile,
                     static_cast<long long>(count));
  return ATTN_OK;
}

attn_status Embedding::readWindow(int64_t begin, int64_t end) {
  if (command.prompt) {
    sources.clear();
    if (!sources.push(Slice(command.prompt)))
      return error.outOfMemory("lines");
  } else {
    input.seek(begin);
    if (input.read(end - begin, bytes, sources, error))
      return error.status;
  }
  return window.read(sources, begin + 1);
}

/// Says what is wrong with a line, or that it has no vector.
attn_status Embedding::say(const Line &line) {
  const char *message = line.message ? line.message : "error[R0401]: no memory";
  const char *colon = strstr(message, "]: ");
  Slice code(message, colon ? size_t(colon - message) + 3 : 0);
  Text text;
  text.append("%.*s", int(code.size), code.data);
  if (!command.prompt && line.status == ATTN_BAD_INPUT) {
    text.append("`");
    text.appendQuoted(command.promptFile, strlen(command.promptFile));
    text.append(":%lld`: ", static_cast<long long>(line.number));
  }
  text.append("%s", message + code.size);
  window.hideProgress();
  bool isSkipped = command.skipsErrors && line.status == ATTN_BAD_INPUT;
  if (isSkipped) {
    const char *newline = strchr(text.c_str(), '\n');
    const char *said = text.c_str() + code.size;
    fprintf(stderr, "note: %.*s; its vector is NaN\n",
            newline ? int(newline - said) : int(strlen(said)), said);
    ++failures;
    return ATTN_OK;
  }
  error.take(line.status, text.c_str());
  if (!command.prompt && line.status == ATTN_BAD_INPUT)
    error.help("`--skip-errors` gives such lines a row of NaN");
  if (output && file.rows() > 0)
    error.note("`%s` has the rows before it (%lld): with `--resume` they are not made again",
               file.part(), static_cast<long long>(file.rows()));
  return error.status;
}

bool Embedding::appendRow(const Line &line, Vector<char> &to) const {
  if (!writesJson)
    return to.append(reinterpret_cast<const char *>(line.vector),
                     size_t(work.width) * sizeof *line.vector);
  Text begin;
  if (isJson)
    begin.append("{\"id\": %.*s", line.id.size ? int(line.id.size) : 4,
                 line.id.size ? line.id.data : "null");
  else
    begin.append("{\"line\": %lld", static_cast<long long>(line.number));
  return !begin.failed() && to.append(begin.c_str(), begin.size()) &&
         (line.status ? append(to, Slice(", \"vector\": null"))
                      : line.appendVector(work.width, to)) &&
         append(to, Slice("}\n"));
}

/// Keeps the rows of the window up to the first line that is an error.
attn_status Embedding::keepWindow() {
  Vector<char> rows;
  const Line *wrong = nullptr;
  int64_t kept = 0;
  for (const Line &line : window.lines()) {
    bool isSkipped = command.skipsErrors && line.status == ATTN_BAD_INPUT;
    if (line.status && !isSkipped) {
      wrong = &line;
      break;
    }
    if (isSkipped)
      say(line);
    if (output ? !appendRow(line, rows) : !values.append(line.vector, size_t(work.width)))
      return error.outOfMemory("rows");
    ++kept;
  }
  if (output)
    if (attn_status status = file.append(rows.data(), rows.size(), kept, error))
      return status;
  return wrong ? say(*wrong) : ATTN_OK;
}

/// The last row of a run before has to be what its line gives.
attn_status Embedding::checkLast() {
  Vector<char> there, wanted;
  int64_t line = file.rows() - 1;
  if (file.readLast(there, error) || readWindow(line, line + 1) || window.makeOne(0))
    return error.status;
  if (!appendRow(window.lines()[0], wanted))
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
  int64_t begin = output ? file.rows() : 0;
  if (window.begin(begin, count) || (begin > 0 && checkLast()))
    return error.status;
  for (int64_t end; begin < count; begin = end) {
    end = count - begin < work.window ? count : begin + work.window;
    if (readWindow(begin, end) || window.make() || keepWindow())
      return error.status;
  }
  window.hideProgress();
  if (failures > 0)
    fprintf(stderr, "note: %lld of %lld lines have no vector\n", static_cast<long long>(failures),
            static_cast<long long>(count));
  return command.prompt ? ATTN_OK : input.checkUnchanged(error);
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
  for (int64_t line = 0; line < count; line += 2) {
    const float *pair = values.data() + line * work.width;
    printf("%.4f\n", cosine(pair, pair + work.width, work.width));
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
  tensor.shape[0] = count, tensor.shape[1] = work.width;
  tensor.data = values.data();
  return writeOutputs(command, run.model->tables->entries[run.entry], 1, Labels(), outputs, error);
}

attn_status Embedding::embed() {
  return openLines() || openFile() || run.bind(run) || makeAll() ? error.status : finish();
}

attn_status attn::embedTexts(const PromptRun &run, const attn_tokenizer &tokenizer, Error &error) {
  return Embedding(run, tokenizer, error).embed();
}
