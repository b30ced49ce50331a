// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Nodes to operations, from the outputs to the inputs: of each value that is wanted, the largest
// pattern that ends in the node which gives it.
#pragma once

#include "compiler/import/onnx/graph/Patterns.h"
#include <map>

namespace attn::importer {

/// Finds the operations of a graph. It is used once.
class Matcher : private Patterns {
public:
  Matcher(Graph &graph, std::vector<Misfit> &misfits)
      : Patterns(graph), graph(graph), misfits(misfits) {}
  /// All operations, in their order.
  std::vector<Operation> run();

private:
  //===-- Matcher.cpp -------------------------------------------------------------------------===//
  /// Finds the operation that gives the outputs of a node.
  void match(GraphNode &node);
  /// Says that a node does not fit, and looks at what is before it.
  void refuse(const GraphNode &node, const llvm::Twine &why);
  /// Wants a value.
  void want(int value);
  /// Adds an operation that ends in `node`, whose inputs are wanted then.
  Operation &add(OperationKind kind, const GraphNode &node, llvm::ArrayRef<int> inputs);

  // Each is true where the node is the end of its pattern.
  //===-- MatchLayers.cpp: linear maps, norms, activations ------------------------------------===//
  /// MatMul with a matrix of weights, and an Add of a bias.
  bool matchLinear(const GraphNode &node);
  /// Gemm with a matrix of weights.
  bool matchGemm(const GraphNode &node);
  /// A norm that is taken apart.
  bool matchNorm(const GraphNode &node);
  /// LayerNormalization, RMSNormalization.
  bool matchNormNode(const GraphNode &node);
  /// GELU by erf or tanh.
  bool matchGelu(const GraphNode &node);
  /// x * sigmoid(x).
  bool matchSilu(const GraphNode &node);
  /// LSTM, GRU, RNN (MatchRecurrent.cpp).
  bool matchRecurrent(const GraphNode &node);
  /// Conv.
  bool matchConvolution(const GraphNode &node);

  //===-- MatchAttention.cpp ------------------------------------------------------------------===//
  /// MatMul of a softmax and values.
  bool matchAttention(const GraphNode &node);
  /// Attention.
  bool matchAttentionNode(const GraphNode &node);
  /// Rotary positions that are taken apart (MatchRotary.cpp).
  bool matchRotary(const GraphNode &node);
  /// RotaryEmbedding.
  bool matchRotaryNode(const GraphNode &node);
  /// Goes from the softmax to the product of queries and keys.
  bool readScores(int value, Operation &attend);
  /// Reads the product of queries and keys, and what they are scaled by.
  bool readProduct(const GraphNode &product, double scale, Operation &attend);
  /// Notes where keys and values are those of a cache; false where only one of them is.
  bool findCache(Operation &attend, int keys, int values);
  /// Wants what is added to scores as tensors, where it is no formula of positions and inputs.
  void wantTerms(Operation &attend);
  /// Adds another view of a value; what it gives.
  int addView(const GraphNode &node, OperationKind kind, int input, const Sizes &after,
              llvm::ArrayRef<int64_t> order);
  /// Adds the views that make `result`, [B, T, H * E], of the [B, H, T, E] that is given back.
  int addJoined(const GraphNode &node, int result, double heads, const Quantity &width);
  /// Adds the views that put heads on an axis of their own.
  int addHeads(const GraphNode &node, int value, double count, bool areKeys);

  //===-- MatchSimple.cpp: one node, one operation --------------------------------------------===//
  /// What works element by element.
  bool matchFormula(const GraphNode &node);
  /// Reshape, Transpose and others that calculate nothing.
  bool matchView(const GraphNode &node);
  /// Slice, Split.
  bool matchPart(const GraphNode &node);
  /// Rows of a table, or one element of an axis.
  bool matchGather(const GraphNode &node);
  /// Reductions, Softmax, Concat.
  bool matchOther(const GraphNode &node);
  /// The first rows of a weight, as many as there are positions.
  bool matchPositions(const GraphNode &node, int table, int64_t axis);
  /// ReduceL2, ReduceSumSquare.
  bool matchLength(const GraphNode &node);
  /// Adds a reduction along the axes that the node says.
  void addReduce(const GraphNode &node, int input, int output, llvm::StringRef function);
  /// Clip, of which one bound may be missing.
  bool matchClip(const GraphNode &node, Operation &made);
  /// Adds the part of an axis that `output` is, from `first` on.
  void addSlice(const GraphNode &node, int input, int output, int64_t axis, int64_t first);

  Graph &graph;
  std::vector<Misfit> &misfits;
  std::vector<Operation> operations;
  std::vector<bool> isWanted;              ///< of each node
  std::vector<const GraphNode *> unsized;  ///< nodes whose inputs have no sizes
  std::map<const GraphNode *, int> pushes; ///< how many attentions take what goes into a cache
};

} // namespace attn::importer
