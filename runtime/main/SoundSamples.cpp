// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The samples of sounds, and how many there are, as inputs of an entry.
#include "main/SoundSamples.h"
#include "base/Tensor.h"
#include "run/Model.h"

// In libattn_sound, which is linked only where an entry takes a sound.
#pragma weak attn_sound_read

using namespace attn;

namespace {
/// The samples of some sounds.
struct Sounds {
  struct Row {
    float *values = nullptr;
    int64_t count = 0;
  };
  Vector<Row> rows;
  ~Sounds() {
    for (Row &row : rows)
      free(row.values);
  }
};
} // namespace

bool attn::takesSamples(const attn_abi_model &tables, int32_t entry, int32_t input) {
  const attn_abi_sound *sound = soundOf(tables, entry, input);
  return attn_sound_read && sound && sound->form >= ATTN_SOUND_SAMPLES;
}

static attn_status keepRows(const attn_abi_entry &entry, int32_t input, int64_t size,
                            const Sounds &sounds, Tensors &inputs, Error &error) {
  int64_t count = int64_t(sounds.rows.size());
  attn_tensor &tensor = inputs.list[size_t(input)];
  tensor = {nullptr, ATTN_F32, 2, {count, size}, nullptr, 0, 0};
  if (entry.inputs[input].rank == 1)
    tensor = {nullptr, ATTN_F32, 1, {size}, nullptr, 0, 0};
  if (!inputs.allocate(tensor))
    return error.outOfMemory("an input");
  float *to = static_cast<float *>(tensor.data);
  memset(to, 0, size_t(count * size) * sizeof(float));
  for (int64_t i = 0; i < count; ++i) {
    const Sounds::Row &row = sounds.rows[size_t(i)];
    memcpy(to + i * size, row.values, size_t(row.count < size ? row.count : size) * sizeof(float));
  }
  for (int32_t i = 0; i < entry.inputCount; ++i) {
    attn_tensor &lengths = inputs.list[size_t(i)];
    const attn_abi_tensor &wanted = entry.inputs[i];
    if (lengths.data || strcmp(wanted.name, "lengths") != 0 || wanted.dtype != ATTN_I32 ||
        wanted.rank != 1)
      continue;
    lengths = {nullptr, ATTN_I32, 1, {count}, nullptr, 0, 0};
    if (!inputs.allocate(lengths))
      return error.outOfMemory("an input");
    for (int64_t k = 0; k < count; ++k) {
      int64_t own = sounds.rows[size_t(k)].count;
      static_cast<int32_t *>(lengths.data)[k] = int32_t(own < size ? own : size);
    }
  }
  return ATTN_OK;
}

attn_status attn::readSamples(const attn_model &model, int32_t entry, int32_t input,
                              const Vector<const char *> &paths, Tensors &inputs, Error &error) {
  const attn_abi_entry &tables = model.tables->entries[entry];
  const attn_abi_tensor &wanted = tables.inputs[input];
  if (wanted.rank == 1 && paths.size() > 1)
    return error.set(ATTN_INVALID_ARGUMENT, "U0002", "input `%s` is given %d times", wanted.name,
                     int(paths.size()));
  Sounds sounds;
  if (!sounds.rows.resize(paths.size()))
    return error.outOfMemory("an input");
  int64_t longest = 0;
  for (size_t i = 0; i < paths.size(); ++i) {
    Sounds::Row &row = sounds.rows[i];
    char *message = nullptr;
    if (attn_status status =
            attn_sound_read(&model, entry, input, paths[i], &row.values, &row.count, &message)) {
      error.take(status, message);
      attn_message_free(message);
      return status;
    }
    longest = row.count > longest ? row.count : longest;
  }
  int64_t size = samplesOfRow(model, entry, input, longest, error);
  if (!size)
    return error.status;
  return keepRows(tables, input, size, sounds, inputs, error);
}
