// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A graph of one Attention operator (https://onnx.ai/onnx/operators/onnx__Attention.html), checked:
// every size is known and fits, every attribute has a meaning.
#pragma once

#include "compiler/import/onnx/OnnxFile.h"

namespace attn::importer {

/// The operator's inputs, in its order.
enum AttentionInput { Q, K, V, Mask, PastKey, PastValue, Lengths, AttentionInputs };

/// The operator's outputs, in its order.
enum AttentionOutput { Y, PresentKey, PresentValue, Scores, AttentionOutputs };

/// What the fourth output holds: qk_matmul_output_mode.
enum class ScoresMode { Raw, Capped, Masked, Weights };

/// A tensor that the operator takes: an input of the graph.
struct OnnxOperand {
  std::string name;
  OnnxType type;
  llvm::SmallVector<int64_t, 4> shape;
};

/// An output of the graph and what it is of the operator.
struct OnnxResult {
  std::string name;
  AttentionOutput output;
};

/// The operator with all its sizes and attributes known and checked.
struct OnnxAttention {
  std::string graphName;
  int64_t opset;
  std::optional<OnnxOperand> inputs[AttentionInputs];
  std::vector<OnnxOperand> parameters; ///< The graph's inputs that are used, in its order.
  std::vector<OnnxResult> results;     ///< In the graph's order.

  bool isFlat = false; ///< Q, K, V are [batch, position, heads * features], else four-dimensional.
  int64_t batch, heads, groups;    ///< `groups`: heads of keys and values
  int64_t queries, past = 0, keys; ///< `keys` are those of K, without the past ones.
  int64_t features, valueFeatures;

  std::optional<float> scale; ///< none: 1 / sqrt(features)
  float softcap = 0;          ///< 0: none
  bool isCausal = false;
  int64_t left = -1, right = -1; ///< How far a query sees; -1: without bound.
  ScoresMode mode = ScoresMode::Raw;
  int64_t precision = 0; ///< softmax_precision, 0 where it is not given

  /// Whether an input is given.
  bool has(AttentionInput input) const { return inputs[input].has_value(); }
  /// Whether an output is wanted.
  bool returns(AttentionOutput output) const;
  /// The number of keys, the past ones included.
  int64_t allKeys() const { return past + keys; }
  /// How many keys the mask covers; fewer than allKeys() where it says nothing of the last ones.
  int64_t maskedKeys() const;
  bool hasBoolMask() const { return has(Mask) && inputs[Mask]->type == OnnxType::Bool; }
  bool hasBias() const { return has(Mask) && !hasBoolMask(); }
  /// Whether some pairs have no weight, whatever their score.
  bool dropsPairs() const;
};

/// Reads the one operator of a graph; `sizes` are those of axes that have only a name. The error
/// says what is not supported, or does not fit.
llvm::Expected<OnnxAttention> readAttention(const OnnxGraph &graph,
                                            const llvm::StringMap<int64_t> &sizes);

/// The text of the spec, formatted.
std::string writeSpec(const OnnxAttention &attention);

} // namespace attn::importer
