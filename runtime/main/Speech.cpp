// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sounds on the command line of an entry that generates, printed as text. Linked only where a
// program takes text: attn_main refers to it weakly.
#include "main/PrintText.h"
#include "main/Prompt.h"
#include "run/Model.h"
#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace attn;

// In libattn_sound.
#pragma weak attn_sound_read

namespace {

/// The run of one or several sounds.
class SpeechRun {
public:
  explicit SpeechRun(const PromptRun &run)
      : run(run), command(*run.command), entry(run.model->tables->entries[run.entry]),
        error(*run.error), input(std::max(inputOfFrames(*run.model->tables, run.entry), 0)) {}
  ~SpeechRun() { attn_tokenizer_destroy(tokenizer); }
  /// `isText` becomes false where there is none, and nothing asks for one.
  attn_status openTokenizer(bool *isText);
  attn_status transcribe();

private:
  attn_status check();
  attn_status write(const char *path);
  static int32_t onText(void *user, double begin, double end, const char *text, size_t size);

  const PromptRun &run;
  const Command &command;
  const attn_abi_entry &entry;
  Error &error;
  int32_t input; ///< that takes the sound
  attn_tokenizer *tokenizer = nullptr;
  attn_speech_options options = {};
  bool isFirst = true;
};

} // namespace

/// "00:05.20", or with hours where there are any.
static void printTime(double seconds) {
  auto hundredths = int64_t(lround(seconds * 100));
  if (hundredths >= 360000)
    printf("%02lld:", static_cast<long long>(hundredths / 360000));
  printf("%02lld:%02lld.%02lld", static_cast<long long>(hundredths / 6000 % 60),
         static_cast<long long>(hundredths / 100 % 60), static_cast<long long>(hundredths % 100));
}

int32_t SpeechRun::onText(void *user, double begin, double end, const char *text, size_t size) {
  auto &self = *static_cast<SpeechRun *>(user);
  if (!self.command.hasTimestamps) {
    // Words begin with a space, but for the first.
    size_t skipped = self.isFirst && text[0] == ' ' ? 1 : 0;
    printText(text + skipped, size - skipped);
    self.isFirst = false;
    fflush(stdout);
    return 1;
  }
  while (size > 0 && *text == ' ')
    ++text, --size;
  if (size == 0)
    return 1;
  printf("[");
  printTime(begin);
  printf(" -> ");
  printTime(end);
  printf("] ");
  printText(text, size);
  printf("\n");
  fflush(stdout);
  return 1;
}

attn_status SpeechRun::check() {
  for (const Setting &setting : command.inputs) {
    const char *name = entry.inputs[input].name;
    bool isKnown = strlen(name) == size_t(setting.length) &&
                   memcmp(name, setting.name, size_t(setting.length)) == 0;
    if (isKnown && isSoundFile(setting.value))
      continue;
    if (!isKnown)
      return error.set(ATTN_NOT_FOUND, "R0102", "entry `%s` has no input `%.*s`", entry.name,
                       setting.length, setting.name);
    error.set(ATTN_INVALID_ARGUMENT, "U0002", "`%s` is no sound, but others are", setting.value);
    error.help("give sounds alone, each of which is written down");
    return error.status;
  }
  bool isAlone = entry.inputCount == 1 || inputOfFrames(*run.model->tables, run.entry) >= 0;
  if (!isAlone || !soundOf(*run.model->tables, run.entry, input))
    return refuseSound(entry, entry.inputs[input], error);
  if (attn_sound_read)
    return ATTN_OK;
  error.set(ATTN_BAD_INPUT, "R0303", "this program was linked without decoders of sounds");
  error.help("run the spec with `attn run`");
  return error.status;
}

attn_status SpeechRun::write(const char *path) {
  float *mel = nullptr;
  int64_t count = 0;
  char *message = nullptr;
  isFirst = true;
  attn_status status = attn_sound_read(run.model, run.entry, input, path, &mel, &count, &message);
  if (status == ATTN_OK)
    status =
        attn_speech_transcribe(run.context, run.entry, tokenizer, mel, count, &options, &message);
  free(mel);
  if (status)
    error.take(status, message);
  else if (!command.hasTimestamps)
    printf("\n");
  attn_message_free(message);
  return status;
}

attn_status SpeechRun::openTokenizer(bool *isText) {
  const char *option = command.hasTimestamps ? "--timestamps"
                       : command.language    ? "--language"
                       : command.task        ? "--task"
                                             : "--tokenizer";
  attn_status status = attn::openTokenizer(command, *run.model->tables, option, &tokenizer, error);
  bool isAsked = command.hasTimestamps || command.language || command.task || command.tokenizer;
  *isText = isAsked || (status != ATTN_IO && status != ATTN_INVALID_ARGUMENT);
  return status;
}

attn_status SpeechRun::transcribe() {
  if (attn_status status = check())
    return status;
  options.numbers = *run.generation;
  options.language = command.language, options.task = command.task;
  options.timestamps = command.hasTimestamps, options.onText = onText, options.user = this;
  if (attn_status status = run.bind(run))
    return status;
  for (const Setting &setting : command.inputs)
    if (write(setting.value))
      return error.status;
  return ATTN_OK;
}

extern "C" attn_status attn_main_speech(const PromptRun *run, bool *isText) {
  SpeechRun speech(*run);
  attn_status status = speech.openTokenizer(isText);
  return status ? status : speech.transcribe();
}
