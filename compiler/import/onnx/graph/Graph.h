// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The graph of an ONNX file with its values by numbers: what each node takes and gives, the sizes
// of each tensor, and the elements of those that are known when importing.
#pragma once

#include "compiler/import/onnx/OnnxFile.h"
#include "compiler/import/onnx/graph/Quantity.h"
#include "llvm/ADT/StringSet.h"
#include <memory>

namespace attn::importer {

/// Elements of a tensor, row-major.
using Elements = std::vector<Quantity>;

/// A tensor of the graph.
struct GraphValue {
  std::string name;
  OnnxType type = OnnxType::None;
  std::optional<Sizes> sizes;            ///< nothing where they could not be found
  std::shared_ptr<const Elements> known; ///< of small tensors; null where they are not known
  const OnnxTensor *tensor = nullptr;    ///< an initializer, or a constant of a node
  int node = -1;                         ///< that gives it
  bool isInput = false;

  /// Whether it is a tensor of the file that is too large to be taken apart.
  bool isWeight() const { return tensor && !known; }
  /// How many axes it has; -1 where that is not known.
  int rank() const { return sizes ? static_cast<int>(sizes->size()) : -1; }
};

/// A node, its tensors by their numbers; -1 stands for an input that is left out.
struct GraphNode {
  const OnnxNode *source;
  llvm::SmallVector<int, 4> inputs;
  llvm::SmallVector<int, 2> outputs;
  std::string problem; ///< why the sizes of its outputs could not be found

  /// The operator, with its domain where that is not the standard one.
  llvm::StringRef type() const { return source->type; }
  /// An input, -1 where the node has not so many.
  int input(size_t i) const { return i < inputs.size() ? inputs[i] : -1; }
  /// The value of an attribute of this kind; null where there is none.
  template <typename T> const T *attribute(llvm::StringRef name) const {
    return source->attribute<T>(name);
  }
  int64_t integer(llvm::StringRef name, int64_t otherwise) const {
    return source->integer(name, otherwise);
  }
};

/// The graph under examination.
struct Graph {
  const OnnxGraph *file = nullptr;
  TensorLoader load;
  int64_t opset = 0;
  std::vector<GraphValue> values;
  std::vector<GraphNode> nodes;
  std::vector<int> inputs, outputs;
  std::vector<std::string> sizeNames; ///< of sizes that are only named
  llvm::StringSet<> usedSizes;        ///< the names of those that were given

  const GraphValue &operator[](int value) const { return values[static_cast<size_t>(value)]; }
  GraphValue &operator[](int value) { return values[static_cast<size_t>(value)]; }
  /// The node of which a value is the first output; null where there is none.
  const GraphNode *producer(int value) const {
    if (value < 0 || (*this)[value].node < 0)
      return nullptr;
    const GraphNode &node = nodes[static_cast<size_t>((*this)[value].node)];
    return node.outputs.front() == value ? &node : nullptr;
  }
  /// The same, where it is of this type.
  const GraphNode *producer(int value, llvm::StringRef type) const {
    const GraphNode *node = producer(value);
    return node && node->type() == type ? node : nullptr;
  }
  /// The number of a tensor of one element that is known; nothing of others.
  std::optional<double> number(int value) const;
  /// A value of the matcher's own.
  int add(OnnxType type, const Sizes &sizes);
};

/// The elements of a tensor, also of a large one. The error names it.
llvm::Expected<Elements> elementsOf(const Graph &graph, const OnnxTensor &tensor);

/// Numbers the values of a file's graph and finds sizes and known elements; `sizes` are those of
/// axes that have only a name.
llvm::Expected<Graph> readGraph(const OnnxGraph &file, const llvm::StringMap<int64_t> &sizes,
                                TensorLoader load);

} // namespace attn::importer
