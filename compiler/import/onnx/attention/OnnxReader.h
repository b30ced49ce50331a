// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The checks between a graph and the attention that it is.
#pragma once

#include "compiler/import/onnx/attention/OnnxAttention.h"
#include "llvm/ADT/StringSet.h"

namespace attn::importer {

/// What the operator's inputs are called in its documentation.
inline constexpr llvm::StringRef onnxInputNames[] = {
    "Q", "K", "V", "attn_mask", "past_key", "past_value", "nonpad_kv_seqlen"};

/// Checks a graph, from what can be said without the rest to what cannot. Every step returns what
/// is wrong.
class OnnxReader {
public:
  OnnxReader(const OnnxGraph &graph, const llvm::StringMap<int64_t> &sizes)
      : graph(graph), sizes(sizes) {}
  /// Runs all steps and gives the attention.
  llvm::Expected<OnnxAttention> read();

private:
  /// Finds the one node, and that it is an `Attention` of a known opset.
  llvm::Error readNode();
  /// Reads the attributes, each of which may be given once.
  llvm::Error readAttributes();
  /// Reads one attribute, whose type and value have to be those of its name.
  llvm::Error readAttribute(const OnnxAttribute &attribute);
  /// Finds the operator's inputs among those of the graph.
  llvm::Error readInputs();
  /// Makes numbers of an input's axes, with the sizes that the caller gives.
  llvm::Error readShape(const OnnxValue &value, OnnxOperand &operand);
  /// Finds the graph's outputs among those of the operator.
  llvm::Error readOutputs();
  /// Checks the types of elements.
  llvm::Error checkTypes();
  /// Checks ranks and sizes of all inputs.
  llvm::Error checkShapes();
  /// Checks the numbers of heads and features.
  llvm::Error checkHeads();
  /// Checks past keys and values.
  llvm::Error checkCache();
  /// Checks the mask and the lengths.
  llvm::Error checkMask();

  /// Checks that an axis of an input has this size.
  llvm::Error expectSize(AttentionInput input, unsigned axis, int64_t size, const llvm::Twine &why);
  llvm::Error expectRank(AttentionInput input, size_t rank);
  llvm::Error expectType(AttentionInput input, OnnxType type, AttentionInput other);
  std::string nameOf(AttentionInput input) const;

  const OnnxGraph &graph;
  const llvm::StringMap<int64_t> &sizes;
  llvm::StringSet<> usedSizes;
  const OnnxNode *node = nullptr;
  OnnxAttention attention;
  std::optional<int64_t> queryHeads, keyHeads; ///< of the attributes
};

} // namespace attn::importer
