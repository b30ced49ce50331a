// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Text in, text out: a prompt becomes tokens, and the tokens of an entry that generates become text
// as they are chosen. Linked only where a program takes text: attn_main refers to it weakly.
#include "main/Prompt.h"
#include "attn/text.h"
#include "base/Tensor.h"
#include <cstdio>
#include <ctime>
#include <sys/stat.h>

using namespace attn;

namespace {

/// The run of one prompt.
class Prompt {
public:
  explicit Prompt(const PromptRun &run)
      : run(run), entry(run.model->tables->entries[run.entry]), error(*run.error) {}
  ~Prompt() {
    attn_message_free(message);
    attn_decoding_destroy(decoding);
    attn_tokens_free(&tokens);
    attn_tokenizer_destroy(tokenizer);
  }
  attn_status answer();

private:
  attn_status openTokenizer();
  attn_status readText();
  attn_status encode();
  attn_status fillInputs();
  attn_status generate();
  attn_status print(int32_t token);
  attn_status printAll();
  void report() const;
  /// Passes on what a function of the C API has said.
  attn_status pass(attn_status status) {
    if (status != ATTN_OK)
      error.take(status, message);
    return status;
  }
  static int32_t onTokens(void *user, const int32_t *tokens, int64_t);

  const PromptRun &run;
  const attn_abi_entry &entry;
  Error &error;
  attn_tokenizer *tokenizer = nullptr;
  attn_decoding *decoding = nullptr;
  attn_tokens tokens = {};
  char *message = nullptr;
  Vector<char> file;
  const char *text = nullptr;
  size_t textBytes = 0;
  Tensors inputs, outputs;
  int64_t written = 0;
  double begin = 0, first = 0; ///< Seconds of a clock.
};

} // namespace

static double now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return double(time.tv_sec) + double(time.tv_nsec) * 1e-9;
}

/// Whether `path` is a folder.
static bool isFolder(const char *path) {
  struct stat found;
  return stat(path, &found) == 0 && S_ISDIR(found.st_mode);
}

attn_status Prompt::openTokenizer() {
  const Command &command = *run.command;
  const attn_abi_model &tables = *run.model->tables;
  const char *path = command.tokenizer;
  if (!path && tables.tokenizerBytes > 0)
    return pass(attn_tokenizer_open_memory(tables.tokenizer, size_t(tables.tokenizerBytes),
                                           &tokenizer, &message));
  if (!path && command.weights && isFolder(command.weights))
    path = command.weights;
  if (path)
    return pass(attn_tokenizer_open(path, &tokenizer, &message));
  error.set(ATTN_INVALID_ARGUMENT, "U0003", "`--prompt` needs a tokenizer");
  error.help(
      "pass `--tokenizer FILE` (tokenizer.json, vocab.txt, a .model of SentencePiece, …), or "
      "by `--weights` the folder that has one");
  return error.status;
}

attn_status Prompt::readText() {
  const Command &command = *run.command;
  if (command.prompt) {
    text = command.prompt, textBytes = strlen(text);
    return ATTN_OK;
  }
  bool isStdin = strcmp(command.promptFile, "-") == 0;
  FILE *from = isStdin ? stdin : fopen(command.promptFile, "rb");
  if (!from)
    return error.set(ATTN_IO, "R0501", "`%s` cannot be read", command.promptFile);
  char block[65536];
  bool hasRoom = true;
  for (size_t got; hasRoom && (got = fread(block, 1, sizeof block, from)) > 0;) {
    size_t at = file.size();
    hasRoom = file.resize(at + got);
    if (hasRoom)
      memcpy(file.data() + at, block, got);
  }
  bool isGood = !ferror(from);
  if (!isStdin)
    fclose(from);
  if (!hasRoom)
    return error.outOfMemory("a prompt");
  if (!isGood)
    return error.set(ATTN_IO, "R0501", "`%s` cannot be read", command.promptFile);
  text = file.data(), textBytes = file.size();
  return ATTN_OK;
}

attn_status Prompt::encode() {
  if (attn_status status = pass(attn_tokenizer_encode(tokenizer, text, textBytes,
                                                      ATTN_TEXT_ADD_SPECIAL, &tokens, &message)))
    return status;
  if (tokens.count > 0)
    return ATTN_OK;
  error.set(ATTN_BAD_INPUT, "R0214", "the prompt has no tokens");
  error.help("give at least one character");
  return error.status;
}

/// Whether an input is the one that takes the prompt: integers in rows.
static bool takesPrompt(const attn_abi_tensor &input) {
  return (input.dtype == ATTN_I32 || input.dtype == ATTN_I64) && input.rank == 2;
}

/// Whether an input says how long each row is.
static bool takesLengths(const attn_abi_tensor &input) {
  return input.dtype == ATTN_I32 && input.rank == 1 && strcmp(input.name, "lengths") == 0;
}

attn_status Prompt::fillInputs() {
  if (!inputs.list.resize(size_t(entry.inputCount)))
    return error.outOfMemory("the inputs");
  bool isTaken = false;
  for (int32_t i = 0; i < entry.inputCount; ++i) {
    const attn_abi_tensor &known = entry.inputs[i];
    attn_tensor &tensor = inputs.list[size_t(i)];
    if (known.state)
      continue;
    bool isPrompt = !isTaken && takesPrompt(known);
    if (!isPrompt && !takesLengths(known)) {
      error.set(ATTN_INVALID_ARGUMENT, "U0003",
                "entry `%s` takes `%s`, which `--prompt` does not give", entry.name, known.name);
      error.help("with `--prompt`, an entry takes tokens, i32[B, T], and how many there are, "
                 "`lengths: i32[B]`");
      return error.status;
    }
    tensor.dtype = known.dtype, tensor.rank = known.rank;
    tensor.shape[0] = 1, tensor.shape[1] = tokens.count;
    if (!inputs.allocate(tensor))
      return error.outOfMemory("an input");
    if (isPrompt && known.dtype == ATTN_I64)
      for (int64_t t = 0; t < tokens.count; ++t)
        static_cast<int64_t *>(tensor.data)[t] = tokens.ids[t];
    else if (isPrompt)
      memcpy(tensor.data, tokens.ids, size_t(tokens.count) * sizeof(int32_t));
    else
      *static_cast<int32_t *>(tensor.data) = int32_t(tokens.count);
    isTaken |= isPrompt;
  }
  if (isTaken)
    return ATTN_OK;
  return error.set(ATTN_INVALID_ARGUMENT, "U0003", "entry `%s` takes no tokens, i32[B, T]",
                   entry.name);
}

attn_status Prompt::print(int32_t token) {
  const char *piece = nullptr;
  size_t bytes = 0;
  if (attn_status status = pass(attn_decoding_add(decoding, token, &piece, &bytes, &message)))
    return status;
  fwrite(piece, 1, bytes, stdout);
  fflush(stdout);
  ++written;
  return ATTN_OK;
}

int32_t Prompt::onTokens(void *user, const int32_t *tokens, int64_t) {
  auto &prompt = *static_cast<Prompt *>(user);
  if (prompt.written == 0)
    prompt.first = now();
  return tokens[0] < 0 || prompt.print(tokens[0]) == ATTN_OK;
}

/// What beams have found, which is settled at the end.
attn_status Prompt::printAll() {
  int32_t count = *static_cast<const int32_t *>(outputs.list[1].data);
  for (int32_t i = 0; i < count; ++i)
    if (attn_status status = print(static_cast<const int32_t *>(outputs.list[0].data)[i]))
      return status;
  return ATTN_OK;
}

attn_status Prompt::generate() {
  attn_generation generation = *run.generation;
  bool isStreamed = generation.beams <= 1;
  if (isStreamed)
    generation.onTokens = onTokens, generation.user = this;
  if (!outputs.list.resize(size_t(entry.outputCount)))
    return error.outOfMemory("the outputs");
  if (attn_status status = pass(attn_infer_shapes(run.context, run.entry, inputs.list.data(),
                                                  outputs.list.data(), &message)))
    return status;
  for (attn_tensor &tensor : outputs.list)
    if (!outputs.allocate(tensor))
      return error.outOfMemory("an output");
  begin = first = now();
  attn_status status = pass(attn_generate(run.context, run.entry, &generation, inputs.list.data(),
                                          outputs.list.data(), &message));
  if (status || error.status)
    return error.status;
  if (!isStreamed)
    if (attn_status wrong = printAll())
      return wrong;
  const char *rest = nullptr;
  size_t bytes = 0;
  if (attn_status wrong = pass(attn_decoding_finish(decoding, &rest, &bytes, &message)))
    return wrong;
  fwrite(rest, 1, bytes, stdout);
  fputc('\n', stdout);
  fflush(stdout);
  return ATTN_OK;
}

void Prompt::report() const {
  double reading = first - begin, writing = now() - first;
  fprintf(stderr, "%lld tokens read", static_cast<long long>(tokens.count));
  if (reading > 0)
    fprintf(stderr, " in %.2f s", reading);
  fprintf(stderr, ", %lld written in %.2f s", static_cast<long long>(written), writing);
  if (written > 1 && writing > 0)
    fprintf(stderr, ", %.1f a second", double(written - (reading > 0)) / writing);
  fprintf(stderr, "\n");
}

attn_status Prompt::answer() {
  using Step = attn_status (Prompt::*)();
  for (Step step :
       {&Prompt::openTokenizer, &Prompt::readText, &Prompt::encode, &Prompt::fillInputs})
    if (attn_status status = (this->*step)())
      return status;
  if (attn_status status = run.bind(run))
    return status;
  if (attn_status status = pass(attn_decoding_create(tokenizer, 1, &decoding, &message)))
    return status;
  if (attn_status status = generate())
    return status;
  report();
  return ATTN_OK;
}

extern "C" attn_status attn_main_prompt(const PromptRun *run) { return Prompt(*run).answer(); }
