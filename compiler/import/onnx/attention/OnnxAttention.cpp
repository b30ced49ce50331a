// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An ONNX graph to an OnnxAttention: the steps of OnnxReader in order, and what follows from sizes
// and attributes.
#include "compiler/import/onnx/attention/OnnxReader.h"

using namespace llvm;

namespace attn::importer {

bool OnnxAttention::returns(AttentionOutput output) const {
  return any_of(results, [&](const OnnxResult &result) { return result.output == output; });
}

int64_t OnnxAttention::maskedKeys() const {
  if (!has(Mask))
    return allKeys();
  int64_t keys = inputs[Mask]->shape.back();
  // Opset 23 repeats a mask of one key for all; later ones take the others for dropped.
  return keys == 1 && opset == 23 ? allKeys() : keys;
}

bool OnnxAttention::dropsPairs() const {
  return hasBoolMask() || maskedKeys() < allKeys() || has(Lengths) || isCausal || left >= 0 ||
         right >= 0;
}

Expected<OnnxAttention> OnnxReader::read() {
  using Step = Error (OnnxReader::*)();
  for (Step step : {&OnnxReader::readNode, &OnnxReader::readAttributes, &OnnxReader::readInputs,
                    &OnnxReader::readOutputs, &OnnxReader::checkTypes, &OnnxReader::checkShapes,
                    &OnnxReader::checkMask})
    if (Error error = (this->*step)())
      return error;
  return std::move(attention);
}

Expected<OnnxAttention> readAttention(const OnnxGraph &graph, const StringMap<int64_t> &sizes) {
  return OnnxReader(graph, sizes).read();
}

} // namespace attn::importer
