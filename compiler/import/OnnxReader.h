// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The checks between a graph and the attention that it is.
#ifndef ATTN_COMPILER_IMPORT_ONNXREADER_H
#define ATTN_COMPILER_IMPORT_ONNXREADER_H

#include "compiler/import/OnnxAttention.h"
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
  llvm::Expected<OnnxAttention> read();

private:
  llvm::Error readNode();
  llvm::Error readAttributes();
  llvm::Error readAttribute(const OnnxAttribute &attribute);
  llvm::Error readInputs();
  llvm::Error readShape(const OnnxValue &value, OnnxOperand &operand);
  llvm::Error readOutputs();
  llvm::Error checkTypes();
  llvm::Error checkShapes();
  llvm::Error checkHeads();
  llvm::Error checkCache();
  llvm::Error checkMask();

  /// That an axis of an input has this size.
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

#endif // ATTN_COMPILER_IMPORT_ONNXREADER_H
