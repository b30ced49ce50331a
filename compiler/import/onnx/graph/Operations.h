// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a graph computes, as the language says it: linear maps, norms, attentions, each made of
// several nodes.
#pragma once

#include "compiler/import/onnx/graph/Graph.h"

namespace attn::importer {

/// What an operation does with its inputs.
enum class OperationKind {
  View,      ///< the same elements under other axes
  Transpose, ///< the axes in the order of `integers`
  Expand,    ///< repeated along axes of one element
  Formula,   ///< element by element
  Linear,    ///< of the last axis
  Windows,   ///< a convolution
  Norm,      ///< of the last axes, as many as `integers[0]` says
  Embedding, ///< rows of a weight at the places in the input
  Softmax,   ///< along the axis `integers[0]`
  Reduce,    ///< `text` along the axes `integers`, kept where `keeps`
  Pick,      ///< the element `integers[1]` of the axis `integers[0]`, kept where `keeps`
  Slice,     ///< of the axis `integers[0]`, `integers[2]` elements from `integers[1]` on
  Concat,    ///< along the axis `integers[0]`
  Rotary,    ///< pairs of features turned by angles
  Recurrent, ///< a scan of a cell: the result `integers[0]` of the node
  Attend,    ///< queries [..., T, E], keys [..., E, S], values [..., S, F]
};

/// An initializer as a parameter.
struct Weight {
  int value = -1;
  bool isTransposed = false; ///< the matrix is [in, out], not [out, in]
};

/// What an attention adds to a score, or puts in its place.
struct ScoreTerm {
  int value = -1;           ///< the tensor, in the shape of the scores or one that becomes it
  double factor = 1;        ///< of what is added
  bool isCondition = false; ///< scores become `fill` where it holds, or does not
  bool keepsWhere = true;   ///< the score stays where the condition holds
  double fill = 0;
  bool isTensor = false; ///< computed before, and read
};

/// Which part of a packed linear map an operation is.
struct PackedPart {
  int group = -1; ///< of parts of one matrix; -1: it is none
  size_t index = 0, count = 0;
  bool isInside = false; ///< parts are inside of an axis that stands before them, head by head
};

/// An operation and the tensors that it takes and gives.
struct Operation {
  OperationKind kind;
  const GraphNode *node; ///< for messages
  llvm::SmallVector<int, 3> inputs;
  int output = -1;
  std::string text;                 ///< a function, or the operator between two inputs
  std::vector<std::string> numbers; ///< numbers of a formula by place; empty: an input stands there
  llvm::SmallVector<int64_t, 6> integers;
  bool keeps = false;
  Weight weight, bias;
  Weight recurrent; ///< of the states of a cell
  double eps = 0, scale = 1, cap = 0;
  bool isRms = false, isCausal = false, isInterleaved = false;
  bool isCached = false; ///< keys and values are pushed to the cache
  int64_t window = -1;   ///< how many keys before its own a query sees; -1: all
  int64_t past = 0;      ///< how many keys stand before that of the first query
  std::vector<ScoreTerm> terms;
  PackedPart part;
};

/// A node that does not fit, and why.
struct Misfit {
  const GraphNode *node;
  std::string why;
};

/// The operations of a graph in an order in which they can be computed. All nodes that do not fit
/// are in `misfits`.
std::vector<Operation> matchGraph(Graph &graph, std::vector<Misfit> &misfits);

} // namespace attn::importer
