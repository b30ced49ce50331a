// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Windows of a recording, and the C API of them. With timestamps the next window begins where the
// last whole segment ends, as in the published transcription; else behind this one.
#include "session/Speech.h"
#include "session/SpeechFrames.h"
#include <cmath>

using namespace attn;

attn_status Speech::check() {
  if (!entry.unfold)
    return error.set(ATTN_INVALID_ARGUMENT, "U0002", "entry `%s` generates no tokens", entry.name);
  const attn_abi_tensor *mel = entry.inputCount == 1 ? &entry.inputs[0] : nullptr;
  const attn_abi_sound *sound = mel ? soundOf(*context.model->tables, number, 0) : nullptr;
  if (!sound || mel->rank != 3) {
    error.set(ATTN_INVALID_ARGUMENT, "U0003", "entry `%s` takes no sound alone", entry.name);
    error.help("to write down a sound, an entry takes f32[B, bands, frames], and its model says "
               "`sound input`");
    return error.status;
  }
  bands = sound->bands, window = sound->frames;
  framesPerSecond = double(sound->rate) / double(sound->hop);
  if (options.numbers.beams > 1) {
    error.set(ATTN_INVALID_ARGUMENT, "U0002", "a transcription has no beams");
    error.help("pass `--beams 1`");
    return error.status;
  }
  return ATTN_OK;
}

int32_t Speech::onTokens(void *user, const int32_t *tokens, int64_t) {
  auto &speech = *static_cast<Speech *>(user);
  return tokens[0] >= 0 && speech.written.push(tokens[0]);
}

void Speech::onScores(void *user, float *scores, int64_t, int64_t vocabulary) {
  auto &speech = *static_cast<Speech *>(user);
  speech.rules.restrict(scores, vocabulary, speech.written);
}

attn_status Speech::listen(const float *mel, int64_t frames) {
  for (int64_t band = 0; band < bands; ++band)
    memcpy(part.data() + band * window, mel + band * (frames + window) + seek,
           size_t(window) * sizeof(float));
  attn_tensor input = {part.data(), ATTN_F32, 3, {1, bands, window}, nullptr, 0, 0};
  attn_generation numbers = options.numbers;
  numbers.onTokens = onTokens, numbers.onScores = onScores, numbers.user = this;
  // The rules know them.
  numbers.forceCount = numbers.suppressCount = numbers.suppressFirstCount = 0;
  Outputs outputs;
  written.resize(0);
  if (outputs.prepare(context, number, &input, error))
    return error.status;
  char *message = nullptr;
  if (attn_status status =
          attn_generate(&context, number, &numbers, &input, outputs.data(), &message))
    error.take(status, message);
  attn_message_free(message);
  return error.status;
}

bool Speech::takeText(size_t begin, size_t end, double from, double to) {
  Vector<int32_t> ids;
  for (size_t i = begin; i < end; ++i)
    if (!isTimestamp(i) && !ids.push(written[i]))
      return error.outOfMemory("a text") == ATTN_OK;
  char *text = nullptr, *message = nullptr;
  size_t size = 0;
  attn_status status =
      attn_tokenizer_decode(&tokenizer, ids.data(), int64_t(ids.size()), 1, &text, &size, &message);
  if (status)
    error.take(status, message);
  else if (options.onText && size > 0)
    isWanted = options.onText(options.user, from, to, text, size) != 0;
  attn_message_free(text);
  attn_message_free(message);
  return status == ATTN_OK;
}

int64_t Speech::takeSegments(int64_t size) {
  size_t first = rules.headSize(), count = written.size();
  double start = double(seek) / framesPerSecond;
  auto timeOf = [&](size_t at) {
    return start + double(rules.stepsOf(written[at])) / timestampsPerSecond;
  };
  // A lone timestamp at the end: nothing is said behind it.
  bool isLone = count >= first + 2 && isTimestamp(count - 1) && !isTimestamp(count - 2);
  size_t last = first;
  for (size_t i = first + 1; options.timestamps && i <= count; ++i) {
    bool isCut = i < count ? isTimestamp(i - 1) && isTimestamp(i) : isLone && last > first;
    if (!isCut)
      continue;
    if (timeOf(last) < timeOf(i - 1) && isWanted && !takeText(last, i, timeOf(last), timeOf(i - 1)))
      return size;
    last = i;
  }
  if (last > first) {
    double end = double(rules.stepsOf(written[last - 1])) / timestampsPerSecond;
    int64_t taken = isLone ? size : int64_t(lround(end * framesPerSecond));
    return taken > 0 && taken < size ? taken : size;
  }
  double end = start + double(size) / framesPerSecond;
  for (size_t i = count; options.timestamps && i-- > first;)
    if (isTimestamp(i)) {
      end = rules.stepsOf(written[i]) > 0 ? timeOf(i) : end;
      break;
    }
  takeText(first < count ? first : count, count, start, end);
  return size;
}

attn_status Speech::transcribe(const float *mel, int64_t frames) {
  if (check() || rules.read(tokenizer, options, error))
    return error.status;
  if (!part.resize(size_t(bands * window)))
    return error.outOfMemory("a window of a sound");
  while (seek < frames && isWanted) {
    if (listen(mel, frames))
      return error.status;
    if (rules.headSize() > 0 && !written.empty())
      rules.keepLanguage(written[0]);
    seek += takeSegments(frames - seek < window ? frames - seek : window);
    if (error.status)
      return error.status;
  }
  return ATTN_OK;
}

extern "C" attn_status attn_speech_options_default(const attn_model *model, int32_t entry,
                                                   attn_speech_options *options, char **message) {
  if (options) {
    *options = {};
    bool isKnown = model && entry >= 0 && entry < model->tables->entryCount;
    if (isKnown && inputOfFrames(*model->tables, entry) >= 0)
      return ATTN_OK;
    return attn_generation_default(model, entry, &options->numbers, message);
  }
  Error error;
  error.set(ATTN_INVALID_ARGUMENT, "R0101", "attn_speech_options_default: null pointer");
  return error.report(message);
}

extern "C" attn_status attn_speech_transcribe(attn_context *context, int32_t entry,
                                              const attn_tokenizer *tokenizer, const float *mel,
                                              int64_t frames, const attn_speech_options *options,
                                              char **message) {
  Error error;
  if (!context || !tokenizer || !mel || !options)
    error.set(ATTN_INVALID_ARGUMENT, "R0101", "attn_speech_transcribe: null pointer");
  else if (entry < 0 || entry >= context->model->tables->entryCount)
    error.set(ATTN_INVALID_ARGUMENT, "R0102", "there is no entry %d", int(entry));
  else if (inputOfFrames(*context->model->tables, entry) >= 0)
    transcribeFrames(*context, entry, *tokenizer, mel, frames, *options, error);
  else
    Speech(*context, entry, *tokenizer, *options, error).transcribe(mel, frames);
  return error.report(message);
}
