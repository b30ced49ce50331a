// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Safetensors and GGUF files: every tensor lies in the file, and its elements are read, those of
// quantized ones, too; the model's parameters are found or named as missing.
#include "Targets.h"
#include "weights/Match.h"

[[maybe_unused]] static volatile char sink;

/// The tables of a model of two parameters, one of them of two layers.
static const attn_abi_model &tables() {
  static const int64_t shapes[][2] = {{2, 3}, {4, 0}};
  static const attn_abi_parameter parameters[] = {
      {"layers.{n}.weight", ATTN_F32, 2, 2, 0, shapes[0], "spec.attn:1:1"},
      {"bias", ATTN_F32, 0, 1, 1, shapes[1], "spec.attn:2:1"}};
  static const char *const ignores[] = {"*.mask", "position?ids*"};
  static const attn_abi_model model = [] {
    attn_abi_model tables = {};
    tables.abiVersion = ATTN_ABI_VERSION;
    tables.parameterCount = 2;
    tables.parameters = parameters;
    tables.ignoreCount = 2;
    tables.ignores = ignores;
    return tables;
  }();
  return model;
}

void attn::fuzz::safetensors(const uint8_t *data, size_t size) {
  Error error;
  Checkpoint checkpoint;
  if (checkpoint.openMemory(reinterpret_cast<const char *>(data), size, "fuzz", error)) {
    require(error.text.size() > 0, "an error without words");
    return;
  }
  for (const StoredTensor &tensor : checkpoint.tensors()) {
    for (size_t i = 0; tensor.data && i < tensor.bytes; i += 64)
      sink = tensor.data[i];
    Vector<char> memory;
    const char *elements = Checkpoint::bytesOf(tensor, memory, error);
    if (!elements)
      require(tensor.quantized && error.text.size() > 0, "elements that are not there");
    else if (tensor.bytes && !tensor.quantized)
      sink = elements[0];
    error = Error();
    require(checkpoint.find(tensor.name) == &tensor, "a tensor that is not found by its name");
  }
  Binding binding;
  Error missing;
  if (matchCheckpoint(tables(), checkpoint, binding, missing))
    require(missing.text.size() > 0, "an error without words");
}
