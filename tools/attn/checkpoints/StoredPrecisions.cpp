// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a checkpoint's tensors are quantized, to what linear maps are computed in.
#include "Checkpoints.h"

#include "dialect/WeightFormat.h"
#include "io/BlockFormat.h"
#include "io/ElementReader.h"
#include "io/QuantizedTensor.h"
#include "tools/attn/support/Report.h"
#include "weights/Match.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

namespace attn::tool {

/// The narrowest precision that a tensor loses little or nothing in: codes of up to 8 bits stay as
/// they are, or are rounded to so many, floats of 4 and 8 bits are ones of 16, too.
static Precision precisionOf(const attn::StoredTensor &tensor) {
  if (int bits = attn::ElementReader::lineBits(tensor))
    return bits > 4                                     ? Precision::Int8Groups
           : tensor.blocks && tensor.blocks->areCentred ? Precision::Int4Groups
                                                        : Precision::Int4;
  if (tensor.blocks)
    return llvm::StringRef(tensor.blocks->name) == "MXFP4" ? Precision::BF16
                                                           : Precision::Int8Groups;
  if (!tensor.quantized)
    return tensor.dtype == ATTN_BF16  ? Precision::BF16
           : tensor.dtype == ATTN_F16 ? Precision::F16
                                      : Precision::F32;
  switch (tensor.quantized->format) {
  case attn::QuantizedTensor::Float8:
  case attn::QuantizedTensor::Float4:
    return Precision::BF16;
  case attn::QuantizedTensor::IntRows:
  case attn::QuantizedTensor::IntWords:
    return tensor.quantized->bits > 4 ? Precision::Int8 : Precision::Int4;
  case attn::QuantizedTensor::Normed:
    return precisionOf(tensor.quantized->codes);
  }
  return Precision::F32;
}

/// Of two precisions, one that both fit into: the one whose format comes first, and of halves of
/// different kinds f32.
static Precision wider(Precision a, Precision b) {
  const WeightFormat &first = formatOf(a), &second = formatOf(b);
  if (a != b && first.isHalf() && second.isHalf())
    return Precision::F32;
  return &first < &second ? a : b;
}

/// A pattern of names as a spec has it: `{n@1-3}`, which says what layers there are, is `{n}`
/// there.
static std::string patternInSpec(llvm::StringRef pattern) {
  std::string text;
  for (;;) {
    auto [before, after] = pattern.split("{n@");
    text += before;
    if (before.size() == pattern.size())
      return text;
    text += "{n";
    pattern = after.drop_while([](char c) { return llvm::isDigit(c) || c == '-' || c == ','; });
  }
}

namespace {
/// The tensors of a precision.
struct Tensors {
  int64_t elements = 0;
  std::vector<std::string> patterns;
};
} // namespace

int findPrecisions(const std::vector<WantedTensor> &wanted, const std::string &path,
                   std::vector<TensorsOfPrecision> &found) {
  attn::Error error;
  attn::Checkpoint checkpoint;
  if (checkpoint.open(path.c_str(), error))
    return failToRead(error);
  bool isQuantized = false;
  llvm::ArrayRef<WeightFormat> formats = weightFormats();
  std::vector<Tensors> tensors(formats.size()); // of each of them
  attn::Text name;
  for (const WantedTensor &tensor : wanted) {
    if (!tensor.isMultiplied)
      continue;
    attn_abi_parameter parameter = {
        tensor.pattern.c_str(), tensor.dtype, tensor.layers, 0, 0, nullptr, ""};
    Precision precision = formats.back().precision; // the narrowest
    for (int32_t layer = 0; layer < std::max(tensor.layers, 1); ++layer) {
      attn::expandName(parameter, layer, name);
      const attn::StoredTensor *stored = checkpoint.find(name.c_str());
      if (!stored)
        continue;
      isQuantized |= stored->blocks || (stored->quantized && !stored->quantized->keepsParts());
      precision = wider(precision, precisionOf(*stored));
    }
    int64_t count = std::max(tensor.layers, 1);
    for (int64_t size : tensor.shape)
      count *= size;
    Tensors &own = tensors[size_t(&formatOf(precision) - formats.begin())];
    own.elements += count;
    own.patterns.push_back(patternInSpec(tensor.pattern));
  }
  if (!isQuantized)
    return Ok;
  // Narrow ones first.
  auto most =
      std::max_element(tensors.rbegin(), tensors.rend(),
                       [](const Tensors &a, const Tensors &b) { return a.elements < b.elements; });
  auto nameOf = [&](const Tensors &own) {
    return formats[size_t(&own - tensors.data())].name().str();
  };
  found.push_back({nameOf(*most), {}});
  for (auto own = tensors.rbegin(); own != tensors.rend(); ++own)
    if (own != most && !own->patterns.empty())
      found.push_back({nameOf(*own), own->patterns});
  return Ok;
}

} // namespace attn::tool
