// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a model goes on with from a text, printed as it is written. Linked only where a program
// takes text: attn_main refers to it weakly.
#include "main/Prompt.h"
#include "attn/text.h"
#include "io/File.h"
#include <cstdio>
#include <sys/stat.h>

using namespace attn;

namespace {

/// The run of one prompt.
class Prompt {
public:
  explicit Prompt(const PromptRun &run) : run(run), error(*run.error) {}
  ~Prompt() {
    attn_message_free(message);
    attn_text_destroy(text);
    attn_tokenizer_destroy(tokenizer);
  }
  attn_status answer();

private:
  attn_status openTokenizer();
  attn_status openText();
  attn_status readPrompt();
  attn_status takePrompt();
  attn_status generate();
  /// Passes on what a function of the C API has said.
  attn_status pass(attn_status status) {
    if (status != ATTN_OK)
      error.take(status, message);
    return status;
  }

  const PromptRun &run;
  Error &error;
  attn_tokenizer *tokenizer = nullptr;
  attn_text *text = nullptr;
  attn_text_options options = {};
  char *message = nullptr;
  Vector<char> prompt;
};

} // namespace

/// Whether what holds the weights may hold a tokenizer, too: a folder, or a GGUF file.
static bool mayHoldTokenizer(const char *path) {
  struct stat found;
  if (stat(path, &found) != 0)
    return false;
  char magic[4] = {};
  SourceFile file;
  Error error;
  return S_ISDIR(found.st_mode) || (!file.open(path, error) && file.size() >= 4 &&
                                    file.read(0, 4, magic) && memcmp(magic, "GGUF", 4) == 0);
}

attn_status Prompt::openTokenizer() {
  const Command &command = *run.command;
  const attn_abi_model &tables = *run.model->tables;
  const char *path = command.tokenizer;
  if (!path && tables.tokenizerBytes > 0)
    return pass(attn_tokenizer_open_memory(tables.tokenizer, size_t(tables.tokenizerBytes),
                                           &tokenizer, &message));
  if (!path && command.weights && mayHoldTokenizer(command.weights))
    path = command.weights;
  if (path)
    return pass(attn_tokenizer_open(path, &tokenizer, &message));
  error.set(ATTN_INVALID_ARGUMENT, "U0003", "`--prompt` needs a tokenizer");
  error.help(
      "pass `--tokenizer FILE` (tokenizer.json, vocab.txt, a .model of SentencePiece, …), or "
      "by `--weights` the folder that has one");
  return error.status;
}

/// Writes a piece of text, whether it can be or not: that shows at the end.
static int32_t print(void *, const char *piece, size_t size) {
  fwrite(piece, 1, size, stdout);
  fflush(stdout);
  return 1;
}

attn_status Prompt::openText() {
  const Command &command = *run.command;
  if (attn_status status =
          pass(attn_text_create(run.context, run.entry, tokenizer, &text, &message)))
    return status;
  if (attn_status status = pass(attn_text_options_default(text, &options, &message)))
    return status;
  options.numbers = *run.generation;
  options.stopCount = int32_t(command.stops.size()), options.stops = command.stops.data();
  options.truncates = command.truncates;
  options.onText = print;
  return ATTN_OK;
}

attn_status Prompt::readPrompt() {
  const Command &command = *run.command;
  if (!command.prompt)
    return readFile(command.promptFile, size_t(INT32_MAX), prompt, error);
  return prompt.append(command.prompt, strlen(command.prompt)) ? ATTN_OK
                                                               : error.outOfMemory("a prompt");
}

attn_status Prompt::takePrompt() {
  return pass(attn_text_prompt(text, prompt.data(), prompt.size(), &options, &message));
}

/// How fast it was.
static void report(const attn_text_result &result) {
  fprintf(stderr, "%lld tokens read", static_cast<long long>(result.read));
  if (result.readSeconds > 0)
    fprintf(stderr, " in %.2f s", result.readSeconds);
  fprintf(stderr, ", %lld written in %.2f s", static_cast<long long>(result.written),
          result.writeSeconds);
  if (result.written > 1 && result.writeSeconds > 0)
    fprintf(stderr, ", %.1f a second",
            double(result.written - (result.readSeconds > 0)) / result.writeSeconds);
  fprintf(stderr, "\n");
}

attn_status Prompt::generate() {
  attn_text_result result;
  if (attn_status status = pass(attn_text_generate(text, &options, &result, &message)))
    return status;
  fputc('\n', stdout);
  fflush(stdout);
  report(result);
  return ATTN_OK;
}

attn_status Prompt::answer() {
  using Step = attn_status (Prompt::*)();
  for (Step step :
       {&Prompt::openTokenizer, &Prompt::openText, &Prompt::readPrompt, &Prompt::takePrompt})
    if (attn_status status = (this->*step)())
      return status;
  if (attn_status status = run.bind(run))
    return status;
  return generate();
}

extern "C" attn_status attn_main_prompt(const PromptRun *run) { return Prompt(*run).answer(); }
