// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One node at a time: the sizes of what it gives, and the elements where all that it takes is
// known.
#pragma once

#include "compiler/import/onnx/graph/Fold.h"

namespace attn::importer {

/// Folds the nodes of a graph, in their order. Every rule returns why it could not, or nothing.
class ConstantFolder {
public:
  explicit ConstantFolder(Graph &graph) : graph(graph) {}
  /// Goes through all nodes.
  void run();

private:
  /// Folds the node.
  using Rule = std::string (ConstantFolder::*)();
  /// The rule of each operator.
  static const llvm::StringMap<Rule> &rules();

  //===-- FoldShapes.cpp: what moves and makes elements ---------------------------------------===//
  /// `Constant`.
  std::string constant();
  /// `ConstantOfShape`.
  std::string constantOfShape();
  /// `Shape`, with a start and an end.
  std::string shape();
  /// `Range`.
  std::string range();
  /// `Reshape`.
  std::string reshape();
  /// `Flatten`.
  std::string flatten();
  /// `Transpose`.
  std::string transpose();
  /// `Unsqueeze`, its axes an attribute or an input.
  std::string unsqueeze();
  /// `Squeeze`, the same.
  std::string squeeze();
  /// `Expand`.
  std::string expand();
  /// `Concat`.
  std::string concat();
  /// `Slice`.
  std::string slice();
  /// `Split`.
  std::string split();
  /// `Gather`.
  std::string gather();

  //===-- FoldNumbers.cpp: what calculates ----------------------------------------------------===//
  /// Whether a value of numbers is one of whole numbers in the file: a sum of such, or made of one.
  bool isCount(int value) const;
  /// What gives the sizes of its first input.
  std::string sameSizes();
  /// What is computed of two tensors, or chosen by a third, element by element.
  std::string elementwise();
  /// `MatMul`.
  std::string matmul();
  /// `Gemm`.
  std::string gemm();
  /// `Conv`.
  std::string convolution();
  /// `ReduceMean` and the like.
  std::string reduce();
  /// `ArgMax`.
  std::string argmax();
  /// `LSTM`, `GRU`, `RNN`.
  std::string recurrent();
  /// `Attention`.
  std::string attention();

  //===-- helpers -----------------------------------------------------------------------------===//
  /// The value of input `i` of the node; null where it is left out.
  const GraphValue *in(size_t i) const;
  /// The sizes of input `i`; null where they are not known.
  const Sizes *sizes(size_t i) const;
  /// The elements of input `i`, as whole numbers or sizes; null where they are not known.
  const Elements *known(size_t i) const;
  /// A list of whole numbers that is an attribute, or from some opset on the input `i`; nothing
  /// where it is given and not known.
  std::optional<std::vector<int64_t>> integers(llvm::StringRef attribute, size_t i, bool &isGiven);
  /// Sets what output `i` is.
  void give(size_t i, OnnxType type, const Sizes &sizes,
            std::shared_ptr<const Elements> elements = nullptr);
  /// Gives output 0 the elements of input 0 in a new shape.
  std::string giveReshaped(const Sizes &sizes);
  /// The elements of input 0 at places that `place` makes of places in a result of these sizes.
  std::shared_ptr<const Elements>
  moved(const Sizes &sizes, llvm::function_ref<int64_t(llvm::ArrayRef<int64_t>)> place) const;
  /// Whether a tensor of these sizes is small enough to be known.
  static bool isSmall(const Sizes &sizes);

  Graph &graph;
  GraphNode *node = nullptr;
  int64_t budget = 1 << 22; ///< elements that may still be made
};

/// An axis counted from 0; -1 where there is none.
int axisOf(int64_t axis, size_t rank);

/// Calls `each` with all places in a tensor of these sizes, which are numbers.
void forEachPlace(const Sizes &sizes, llvm::function_ref<void(llvm::ArrayRef<int64_t>)> each);

/// The place of an element in a dense tensor.
int64_t flatPlace(llvm::ArrayRef<int64_t> place, const Sizes &sizes);

/// Sizes of what is made of two tensors element by element; nothing where they do not fit.
std::optional<Sizes> broadcast(const Sizes &a, const Sizes &b);

} // namespace attn::importer
