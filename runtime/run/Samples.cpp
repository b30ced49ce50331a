// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Inputs that take the samples of sounds, whose rows are as long as these, or a little longer.
#include "run/Model.h"

using namespace attn;

int32_t attn::inputOfFrames(const attn_abi_model &tables, int32_t number) {
  const attn_abi_entry &entry = tables.entries[number];
  int32_t found = -1;
  for (int32_t i = 0; i < entry.inputCount; ++i) {
    const attn_abi_sound *sound = soundOf(tables, number, i);
    bool isSamples = sound && sound->form >= ATTN_SOUND_SAMPLES && entry.inputs[i].rank == 2;
    if (!isSamples && strcmp(entry.inputs[i].name, "lengths") != 0)
      return -1;
    found = isSamples ? i : found;
  }
  bool isWritten = !entry.unfold && entry.outputCount > 0 && entry.outputs[0].rank == 2 &&
                   entry.outputs[0].dtype == ATTN_I32 &&
                   strcmp(entry.outputs[0].name, "tokens") == 0;
  return isWritten ? found : -1;
}

int64_t attn::samplesOfRow(const attn_model &model, int32_t entry, int32_t input, int64_t count,
                           Error &error) {
  const attn_abi_model &tables = *model.tables;
  const attn_abi_tensor &wanted = tables.entries[entry].inputs[input];
  const attn_abi_axis &axis = wanted.axes[wanted.rank - 1];
  if (axis.dim < 0)
    return axis.offset;
  const attn_abi_dim &dim = tables.dims[axis.dim];
  if (!dim.isDynamic)
    return axis.scale * dim.value + axis.offset;
  int64_t behind = count - axis.offset,
          value = behind <= axis.scale ? 1 : (behind + axis.scale - 1) / axis.scale;
  if (value <= dim.value)
    return axis.scale * value + axis.offset;
  error.set(ATTN_BAD_INPUT, "R0302",
            "a sound of %lld samples is longer than input `%s` of entry `%s` can be, %lld",
            static_cast<long long>(count), wanted.name, tables.entries[entry].name,
            static_cast<long long>(axis.scale) * dim.value + axis.offset);
  error.help("raise the bound of `%s` in the spec, or cut the sound into parts", dim.name);
  return 0;
}
