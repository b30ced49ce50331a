// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a checkpoint's tensors are quantized, to what linear maps are computed in.
#include "Checkpoints.h"

#include "io/BlockFormat.h"
#include "io/ElementReader.h"
#include "io/QuantizedTensor.h"
#include "tools/attn/support/Report.h"
#include "weights/Match.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringMap.h"

namespace attn::tool {

/// Narrow ones first.
static constexpr llvm::StringLiteral groupedPrecisions[] = {"int4", "int8", "int8_groups",
                                                            "bf16", "f16",  "f32"};
enum : size_t { Int4, Int8, Int8Groups, BF16, F16, F32, Count };

/// The narrowest precision that a tensor loses little or nothing in: codes of up to 8 bits stay as
/// they are, or are rounded to so many, floats of 4 and 8 bits are ones of 16, too.
static size_t precisionOf(const attn::StoredTensor &tensor) {
  if (int bits = attn::ElementReader::lineBits(tensor))
    return bits > 4 ? Int8Groups : Int4;
  if (tensor.blocks)
    return llvm::StringRef(tensor.blocks->name) == "MXFP4" ? BF16 : Int8Groups;
  if (!tensor.quantized)
    return tensor.dtype == ATTN_BF16 ? BF16 : tensor.dtype == ATTN_F16 ? F16 : F32;
  switch (tensor.quantized->format) {
  case attn::QuantizedTensor::Float8:
  case attn::QuantizedTensor::Float4:
    return BF16;
  case attn::QuantizedTensor::IntRows:
  case attn::QuantizedTensor::IntWords:
    return tensor.quantized->bits > 4 ? Int8 : Int4;
  }
  return F32;
}

/// Of two precisions, one that both fit into: halves of different kinds into f32.
static size_t wider(size_t a, size_t b) {
  return (a == BF16 && b == F16) || (a == F16 && b == BF16) ? size_t(F32) : std::max(a, b);
}

int findPrecisions(const std::vector<WantedTensor> &wanted, const std::string &path,
                   std::vector<TensorsOfPrecision> &found) {
  attn::Error error;
  attn::Checkpoint checkpoint;
  if (checkpoint.open(path.c_str(), error))
    return failToRead(error);
  bool isQuantized = false;
  int64_t elements[Count] = {};
  std::vector<std::string> patterns[Count];
  attn::Text name;
  for (const WantedTensor &tensor : wanted) {
    if (!tensor.isMultiplied)
      continue;
    attn_abi_parameter parameter = {
        tensor.pattern.c_str(), tensor.dtype, tensor.layers, 0, 0, nullptr, ""};
    size_t precision = 0;
    for (int32_t layer = 0; layer < std::max(tensor.layers, 1); ++layer) {
      attn::expandName(parameter, layer, name);
      const attn::StoredTensor *stored = checkpoint.find(name.c_str());
      if (!stored)
        continue;
      isQuantized |= stored->blocks || stored->quantized;
      precision = wider(precision, precisionOf(*stored));
    }
    int64_t count = std::max(tensor.layers, 1);
    for (int64_t size : tensor.shape)
      count *= size;
    elements[precision] += count;
    patterns[precision].push_back(tensor.pattern);
  }
  if (!isQuantized)
    return Ok;
  size_t most = std::max_element(elements, elements + Count) - elements;
  found.push_back({groupedPrecisions[most].str(), {}});
  for (size_t precision = 0; precision < Count; ++precision)
    if (precision != most && !patterns[precision].empty())
      found.push_back({groupedPrecisions[precision].str(), patterns[precision]});
  return Ok;
}

} // namespace attn::tool
