// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One line at a time to a text that a model writes.
#include "base/Json.h"
#include "main/LineTexts.h"
#include "run/Generation.h"
#include "run/Model.h"
#include <algorithm>

using namespace attn;

// In libattn_image and libattn_sound.
#pragma weak attn_image_load
#pragma weak attn_sound_read

namespace {

/// What lines of an entry that generates need.
struct WrittenLines {
  const PromptRun &run;
  const attn_tokenizer &tokenizer;
  const attn_abi_image *image;
  const attn_abi_sound *sound;

  /// The input that takes a sound.
  int32_t input() const { return std::max(inputOfFrames(*run.model->tables, run.entry), 0); }
  const char *field() const { return image ? "image" : sound ? "sound" : "text"; }
  attn_status read(Line &line, Error &error) const;
  attn_status make(attn_context &context, Line &line, Error &error) const;
  attn_status goOn(attn_context &context, const Vector<char> &prompt, Vector<char> &written,
                   char **message) const;
  attn_status describe(attn_context &context, const char *path, Vector<char> &written,
                       char **message) const;
  attn_status transcribe(attn_context &context, const char *path, Vector<char> &written,
                         char **message) const;
};

} // namespace

attn_status WrittenLines::read(Line &line, Error &error) const {
  LineFields fields;
  return line.read(field(), fields, error);
}

static int32_t appendText(void *written, const char *text, size_t size) {
  return static_cast<Vector<char> *>(written)->append(text, size);
}

attn_status WrittenLines::goOn(attn_context &context, const Vector<char> &prompt,
                               Vector<char> &written, char **message) const {
  attn_text *text = nullptr;
  attn_text_options options;
  attn_text_result result;
  attn_status status = attn_text_create(&context, run.entry, &tokenizer, &text, message);
  if (!status)
    status = attn_text_options_default(text, &options, message);
  if (!status) {
    options.numbers = *run.generation;
    options.stopCount = int32_t(run.command->stops.size());
    options.stops = run.command->stops.data();
    options.truncates = run.command->truncates;
    options.onText = appendText, options.user = &written;
    status = attn_text_prompt(text, prompt.data(), prompt.size(), &options, message);
  }
  if (!status)
    status = attn_text_generate(text, &options, &result, message);
  attn_text_destroy(text);
  return status;
}

attn_status WrittenLines::describe(attn_context &context, const char *path, Vector<char> &written,
                                   char **message) const {
  Tensors inputs;
  Outputs outputs;
  Error error;
  attn_tensor input = {nullptr, ATTN_F32, 4, {1, image->channels, image->height, image->width},
                       nullptr, 0,        0};
  if (!inputs.allocate(input))
    return error.outOfMemory("a picture"), error.report(message);
  if (attn_status status = attn_image_load(run.model, run.entry, image->input, path,
                                           static_cast<float *>(input.data), message))
    return status;
  if (outputs.prepare(context, run.entry, &input, error))
    return error.report(message);
  char *text = nullptr;
  size_t size = 0;
  attn_status status =
      attn_generate(&context, run.entry, run.generation, &input, outputs.data(), message);
  // tokens, [rows, limit], and how many of a row were written, [rows].
  if (!status)
    status = attn_tokenizer_decode(&tokenizer, static_cast<const int32_t *>(outputs[0].data),
                                   *static_cast<const int32_t *>(outputs[1].data), 1, &text, &size,
                                   message);
  if (!status)
    written.append(text, size);
  attn_message_free(text);
  return status;
}

attn_status WrittenLines::transcribe(attn_context &context, const char *path, Vector<char> &written,
                                     char **message) const {
  float *mel = nullptr;
  int64_t count = 0;
  attn_speech_options options = {};
  options.numbers = *run.generation;
  options.language = run.command->language, options.task = run.command->task;
  options.timestamps = run.command->hasTimestamps;
  options.user = &written;
  options.onText = [](void *user, double, double, const char *text, size_t size) {
    return appendText(user, text, size);
  };
  attn_status status = attn_sound_read(run.model, run.entry, input(), path, &mel, &count, message);
  if (!status)
    status = attn_speech_transcribe(&context, run.entry, &tokenizer, mel, count, &options, message);
  free(mel);
  return status;
}

attn_status WrittenLines::make(attn_context &context, Line &line, Error &error) const {
  LineFields fields;
  Vector<char> written, json;
  char *message = nullptr;
  if (attn_status status = line.read(field(), fields, error))
    return status;
  if ((image || sound) && !fields.text.push('\0'))
    return error.outOfMemory("a file name");
  attn_status status = image   ? describe(context, fields.text.data(), written, &message)
                       : sound ? transcribe(context, fields.text.data(), written, &message)
                               : goOn(context, fields.text, written, &message);
  if (status)
    error.take(status, message);
  attn_message_free(message);
  if (status)
    return status;
  // Words begin with a space, but for the first.
  Slice text(written);
  if ((image || sound) && text.startsWith(Slice(" ")))
    text = text.from(1);
  bool isGood = append(json, Slice(", \"text\": ")) && appendJsonString(text, json);
  return isGood && line.keep(Slice(json)) ? ATTN_OK : error.outOfMemory("a text");
}

attn_status attn::runWrittenLines(const PromptRun &run, const attn_tokenizer &tokenizer,
                                  Error &error) {
  const attn_abi_model &tables = *run.model->tables;
  const attn_abi_entry &entry = tables.entries[run.entry];
  const attn_abi_image *image = nullptr;
  for (int32_t i = 0; i < tables.imageCount && entry.inputCount == 1; ++i)
    if (tables.images[i].entry == run.entry)
      image = &tables.images[i];
  const attn_abi_sound *sound =
      soundOf(tables, run.entry, std::max(inputOfFrames(tables, run.entry), 0));
  if ((image && !attn_image_load) || (sound && !attn_sound_read)) {
    error.set(ATTN_INVALID_ARGUMENT, "U0002", "this program was linked without decoders of %s",
              image ? "pictures" : "sounds");
    error.help("`attn run` reads them, of a spec or a shared library");
    return error.status;
  }
  WrittenLines written{run, tokenizer, image, sound};
  LineWork work;
  work.self = &written;
  work.window = 64;
  work.read = [](void *self, Line &line, Error &problem) {
    return static_cast<WrittenLines *>(self)->read(line, problem);
  };
  work.make = [](void *self, attn_context &context, Line *const *lines, int64_t, Error &problem) {
    return static_cast<WrittenLines *>(self)->make(context, *lines[0], problem);
  };
  return runLines(run, work, error);
}
