// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the runtime's tests share: checkpoints in memory and on disk, handles that clean up, files
// under the build tree.
#pragma once

#include "attn/attn.h"
#include <map>
#include <random>
#include <string>
#include <vector>

namespace attn::test {

/// A tensor to write into a checkpoint; `bytes` as the dtype has them.
struct Tensor {
  std::string dtype; // as safetensors spells it
  std::vector<int64_t> shape;
  std::string bytes;
};
using Tensors = std::map<std::string, Tensor>;

Tensor floatTensor(std::vector<int64_t> shape, const std::vector<float> &values);
std::vector<float> floats(const Tensor &tensor);
/// A .safetensors file as a string.
std::string safetensors(const Tensors &tensors);
/// A .safetensors file with this header and `bodySize` bytes.
std::string withHeader(const std::string &header, size_t bodySize);
/// Weights of the tiny model, from a seed.
Tensors tinyWeights(unsigned seed);
/// What the tiny model computes, in plain loops in double precision.
std::vector<double> tinyReference(const Tensors &weights, const std::vector<float> &x);

/// The path of a file that tests may write, in a folder of this process under the build tree.
std::string scratchPath(const std::string &name);
void writeText(const std::string &path, const std::string &text);
std::string readText(const std::string &path);
/// Runs a shell command: its exit code, and stdout and stderr together.
struct Finished {
  int code;
  std::string text;
};
Finished shell(const std::string &command);

/// A model and context with the tiny model's tables, and the last message.
struct Handles {
  attn_model *model = nullptr;
  attn_context *context = nullptr;
  char *message = nullptr;
  ~Handles();
  /// The last message, taken.
  std::string text();
};

} // namespace attn::test
