// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checkpoints, alone and beside the parameters of a model. The runtime's own reader and matcher do
// the work, so that `attn check` and a running model never disagree.
#pragma once

#include "base/Error.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/JSON.h"
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace attn::tool {

/// A tensor that a checkpoint must have; see attn_abi_parameter.
struct WantedTensor {
  std::string pattern, location;
  int32_t dtype = 0;
  int32_t layers = 0; ///< 0: belongs to no stack
  bool isOptional = false;
  bool isMultiplied = false; ///< by a linear map
  std::vector<int64_t> shape;
};

/// A precision, and the patterns of the tensors whose linear maps are computed in it.
using TensorsOfPrecision = std::pair<std::string, std::vector<std::string>>;

/// What the linear maps of a checkpoint with quantized tensors are computed in: that of most
/// elements first, whose patterns are left out, then the others. Of a tensor in several layers, the
/// widest. `found` is empty where no tensor is quantized. Returns the exit code.
int findPrecisions(const std::vector<WantedTensor> &wanted, const std::string &path,
                   std::vector<TensorsOfPrecision> &found);

/// Prints why a checkpoint cannot be read. Returns the exit code.
int failToRead(const attn::Error &error);

/// Prints which tensors are bound and which ignored, unless `isQuiet`, and an error that lists the
/// missing, unused, reshaped and retyped ones. Returns the exit code.
int matchWeights(const std::vector<WantedTensor> &wanted, const std::vector<std::string> &ignores,
                 const std::string &path, bool isQuiet);

/// The names and shapes of a checkpoint's tensors. Returns the exit code, after a message.
int readShapes(const std::string &path, std::map<std::string, llvm::SmallVector<int64_t>> &shapes);

/// Which format a file of a checkpoint has.
enum class CheckpointKind { Safetensors, Gguf, Llama2, Onnx, Other };

/// By its name, its first bytes, and its size; `Other` where it cannot be read, too.
CheckpointKind kindOfCheckpoint(const std::string &path);

/// The values of a GGUF file; of an array of texts, or of very many numbers, only "a list". Returns
/// the exit code, after a message.
int readGgufValues(const std::string &path, llvm::json::Object &values);

/// The sizes of a checkpoint of llama2.c as a config.json says them. Returns the exit code.
int readLlama2Config(const std::string &path, llvm::json::Object &config);

/// The elements of a tensor of floats, with the fewest digits that say them; none where there is no
/// such tensor. Returns the exit code.
int readFloats(const std::string &path, const char *name, std::vector<double> &values);

/// The bytes of an initializer of an ONNX file. Returns what is wrong, or nothing.
std::string readOnnxTensor(const std::string &path, const std::string &name, std::string &bytes);

/// Prints of each tensor of a checkpoint its least, greatest and mean value, how much of it is NaN
/// or infinite, and what lies furthest from the mean: of quantized ones, of what they decode to.
/// Files are read piece by piece. Returns the exit code.
int printValues(const std::string &path);

/// Prints the tensors of a checkpoint. Returns the exit code.
int printCheckpoint(const std::string &path, bool isJson);

} // namespace attn::tool
