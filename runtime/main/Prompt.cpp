// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a model goes on with from a text, printed as it is written. Linked only where a program
// takes text: attn_main refers to it weakly.
#include "main/Prompt.h"
#include "attn/text.h"
#include "io/File.h"
#include "main/EmbedTexts.h"
#include "main/LineTexts.h"
#include "main/PrintText.h"
#include <cstdio>
#include <initializer_list>
#include <unistd.h>

using namespace attn;

namespace {

/// The run of one prompt.
class Prompt {
public:
  explicit Prompt(const PromptRun &run) : run(run), error(*run.error) {}
  ~Prompt() {
    attn_message_free(message);
    attn_chat_destroy(chat);
    attn_chat_template_destroy(chatTemplate);
    attn_text_destroy(text);
    attn_tokenizer_destroy(tokenizer);
  }
  attn_status answer();

private:
  attn_status openTokenizer();
  attn_status openText();
  attn_status readPrompt();
  attn_status readPictures();
  attn_status takePrompt();
  attn_status generate();
  attn_status openTemplate();
  attn_status addTurn(const char *role, const char *content, size_t size);
  attn_status runChat();
  attn_status embed();
  attn_status runLines();
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
  attn_chat_template *chatTemplate = nullptr;
  attn_chat *chat = nullptr;
  attn_text_options options = {};
  char *message = nullptr;
  Vector<char> prompt;
};

} // namespace

attn_status Prompt::openTokenizer() {
  return attn::openTokenizer(*run.command, *run.model->tables,
                             run.command->isChat  ? "--chat"
                             : run.command->lines ? "--lines"
                                                  : "--prompt",
                             &tokenizer, error);
}

/// Writes a piece of text, whether it can be or not: that shows at the end.
static int32_t print(void *, const char *piece, size_t size) {
  printText(piece, size);
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

attn_status Prompt::readPictures() {
  for (const char *path : run.command->pictures)
    if (attn_status status = pass(attn_text_picture(text, path, &message)))
      return status;
  return ATTN_OK;
}

attn_status Prompt::takePrompt() {
  return pass(attn_text_prompt(text, prompt.data(), prompt.size(), &options, &message));
}

/// How fast it was.
static void report(const attn_text_result &result) {
  fprintf(stderr, "%lld tokens read", static_cast<long long>(result.read));
  if (result.kept > 0)
    fprintf(stderr, " behind %lld", static_cast<long long>(result.kept));
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

attn_status Prompt::openTemplate() {
  const Command &command = *run.command;
  const char *path = command.tokenizer ? command.tokenizer : command.weights;
  if (path)
    return pass(attn_chat_template_open(path, nullptr, &chatTemplate, &message));
  const attn_abi_model &tables = *run.model->tables;
  if (tables.chatTemplateBytes > 0)
    return pass(attn_chat_template_open_memory(
        tables.chatTemplate, size_t(tables.chatTemplateBytes), &chatTemplate, &message));
  error.set(ATTN_NOT_FOUND, "R0708", "model `%s` has no chat template embedded", tables.name);
  error.help("`--prompt` goes on from a text without one");
  return error.status;
}

attn_status Prompt::addTurn(const char *role, const char *content, size_t size) {
  return pass(attn_chat_add(chat, role, content, size, &message));
}

/// Takes a line of standard input without its end; false where there is none.
static bool takeLine(char *&line, size_t &room, size_t &size) {
  if (isatty(0)) {
    fputs("> ", stderr);
    fflush(stderr);
  }
  ssize_t got = getline(&line, &room, stdin);
  size = got > 0 ? size_t(got) : 0;
  while (size > 0 && (line[size - 1] == '\n' || line[size - 1] == '\r'))
    --size;
  return got > 0;
}

attn_status Prompt::runChat() {
  if (attn_status status = pass(attn_chat_create(text, chatTemplate, &chat, &message)))
    return status;
  const char *system = run.command->system;
  if (system && addTurn("system", system, strlen(system)))
    return error.status;
  for (const char *path : run.command->pictures)
    if (attn_status status = pass(attn_chat_picture(chat, path, &message)))
      return status;
  char *line = nullptr;
  size_t room = 0, size = 0;
  while (error.status == ATTN_OK && takeLine(line, room, size)) {
    attn_text_result result;
    if (size == 0 || addTurn("user", line, size) ||
        pass(attn_chat_answer(chat, &options, &result, &message)))
      continue;
    fputc('\n', stdout);
    fflush(stdout);
    report(result);
  }
  free(line);
  return error.status;
}

attn_status Prompt::embed() {
  return openTokenizer() ? error.status : embedTexts(run, *tokenizer, error);
}

attn_status Prompt::runLines() {
  if (attn_status status = openTokenizer())
    return status;
  const attn_abi_model &tables = *run.model->tables;
  bool isWritten = tables.entries[run.entry].unfold || inputOfFrames(tables, run.entry) >= 0;
  return isWritten ? runWrittenLines(run, *tokenizer, error) : runTextLines(run, *tokenizer, error);
}

attn_status Prompt::answer() {
  using Step = attn_status (Prompt::*)();
  const Command &command = *run.command;
  if (command.lines)
    return runLines();
  if (command.isEmbed || command.isPairs)
    return embed();
  bool isChat = command.isChat;
  auto inTurn = [&](std::initializer_list<Step> steps) {
    for (Step step : steps)
      if (attn_status status = (this->*step)())
        return status;
    return ATTN_OK;
  };
  attn_status status =
      isChat ? inTurn({&Prompt::openTokenizer, &Prompt::openTemplate, &Prompt::openText})
             : inTurn({&Prompt::openTokenizer, &Prompt::openText, &Prompt::readPrompt,
                       &Prompt::readPictures, &Prompt::takePrompt});
  if (status == ATTN_OK)
    status = run.bind(run);
  if (status)
    return status;
  return isChat ? runChat() : generate();
}

extern "C" attn_status attn_main_prompt(const PromptRun *run) { return Prompt(*run).answer(); }
