// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One sound to the tokens of its frames, and these to text.
#include "session/SpeechFrames.h"
#include "base/Tensor.h"
#include "run/Generation.h"
#include "run/Model.h"

using namespace attn;

/// The tokens of the frames of one sound; those behind its end are left out.
static attn_status hear(attn_context &context, int32_t number, const float *samples, int64_t count,
                        Vector<int32_t> &ids, Error &error) {
  const attn_abi_model &tables = *context.model->tables;
  const attn_abi_entry &entry = tables.entries[number];
  int32_t input = inputOfFrames(tables, number);
  int64_t size = samplesOfRow(*context.model, number, input, count, error);
  if (!size)
    return error.status;
  int32_t length = int32_t(count < size ? count : size);
  Vector<float> row;
  Vector<attn_tensor> inputs;
  if (!row.resize(size_t(size)) || !inputs.resize(size_t(entry.inputCount)))
    return error.outOfMemory("a sound");
  memcpy(row.data(), samples, size_t(length) * sizeof(float));
  for (int32_t i = 0; i < entry.inputCount; ++i)
    inputs[size_t(i)] = i == input ? attn_tensor{row.data(), ATTN_F32, 2, {1, size}, nullptr, 0, 0}
                                   : attn_tensor{&length, ATTN_I32, 1, {1}, nullptr, 0, 0};
  Outputs outputs;
  if (outputs.prepare(context, number, inputs.data(), error))
    return error.status;
  char *message = nullptr;
  if (attn_status status = attn_run(&context, number, inputs.data(), outputs.data(), &message))
    error.take(status, message);
  attn_message_free(message);
  if (error.status)
    return error.status;
  const auto *tokens = static_cast<const int32_t *>(outputs[0].data);
  for (int64_t t = 0; t < outputs[0].shape[1]; ++t)
    if (tokens[t] >= 0 && !ids.push(tokens[t]))
      return error.outOfMemory("a text");
  return ATTN_OK;
}

attn_status attn::transcribeFrames(attn_context &context, int32_t number,
                                   const attn_tokenizer &tokenizer, const float *samples,
                                   int64_t count, const attn_speech_options &options,
                                   Error &error) {
  const attn_abi_model &tables = *context.model->tables;
  const char *other = options.timestamps ? "timestamps"
                      : options.language ? "language"
                      : options.task     ? "task"
                                         : nullptr;
  if (other)
    return error.set(ATTN_INVALID_ARGUMENT, "U0002",
                     "entry `%s` writes a token for each frame of a sound, and has no %s",
                     tables.entries[number].name, other);
  if (count < 0)
    return error.set(ATTN_INVALID_ARGUMENT, "R0101", "a sound of %lld samples",
                     static_cast<long long>(count));
  Vector<int32_t> ids;
  if (hear(context, number, samples, count, ids, error))
    return error.status;
  char *text = nullptr, *message = nullptr;
  size_t size = 0;
  // Special tokens are kept, as in the published pipeline: the blank is one of them.
  attn_status status =
      attn_tokenizer_decode(&tokenizer, ids.data(), int64_t(ids.size()), 0, &text, &size, &message);
  const attn_abi_sound *sound = soundOf(tables, number, inputOfFrames(tables, number));
  if (status)
    error.take(status, message);
  else if (options.onText && size > 0)
    options.onText(options.user, 0, double(count) / double(sound->rate), text, size);
  attn_message_free(text);
  attn_message_free(message);
  return error.status;
}
