// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The axes of all tensors, by what flows into what: ONNX tells axes apart by their places, the
// language by names. An axis of a tensor in ONNX is a list of axes here, none where it has one
// element; what a Reshape takes apart is several axes everywhere. So views and transposes are
// nothing.
#pragma once

#include "compiler/import/onnx/graph/ElementFormula.h"
#include "compiler/import/onnx/graph/Operations.h"
#include <map>

namespace attn::importer {

/// Axes that make up one axis of a tensor, outermost first.
using AxisList = llvm::SmallVector<int, 2>;

/// The axes of a tensor.
struct Layout {
  llvm::SmallVector<AxisList, 4> places; ///< of each axis in ONNX
  AxisList absent;                       ///< that it is the same along, and lacks
  bool isKnown = false;
};

/// All axes of a graph.
class Axes {
public:
  Axes(Graph &graph, std::vector<Misfit> &misfits) : graph(graph), misfits(misfits) {}
  /// Finds the axes of what all operations give.
  void run(llvm::ArrayRef<Operation> operations);

  /// What an axis has become: itself, one that it is the same as, or its parts.
  AxisList resolve(llvm::ArrayRef<int> axes) const;
  /// The axes of a tensor that it has, in the order of its places in ONNX.
  AxisList present(int value) const;
  /// The axes at a place, those it lacks among them.
  AxisList at(int value, size_t place) const;
  const Quantity &size(int axis) const { return list[static_cast<size_t>(find(axis))].size; }
  /// The axis of a size that is only named.
  int ofName(unsigned name) const {
    auto found = named.find(name);
    return found == named.end() ? -1 : find(found->second);
  }
  /// The sizes of several.
  Sizes sizesOf(llvm::ArrayRef<int> axes) const;
  /// What an axis is for, for its name.
  llvm::StringRef hint(int axis) const { return list[static_cast<size_t>(find(axis))].hint; }
  /// The name that keys have along an axis which queries have, too; made where there is none yet.
  int keysOf(int axis);
  /// The axis that keys are named after; -1 where it is no such name.
  int queriesOf(int axis) const;
  /// Axes that the operation itself has: given by a linear map, taken by windows, of a table.
  AxisList own(const Operation &operation, size_t i) const;
  /// Says which axes an operation has itself, where it is made of others.
  void setOwn(const Operation &operation, std::vector<AxisList> axes) {
    owned[operation.output] = std::move(axes);
  }
  /// Names the axes of a result that nothing else has named.
  void nameResults(int value);
  /// Makes the axes of two tensors the same; false where they are not of the same sizes.
  bool makeSame(int a, int b);
  /// Makes two axes of one size one, where no tensor has both.
  void merge(llvm::ArrayRef<Operation> operations);

private:
  /// One axis, and what it has become.
  struct Axis {
    Quantity size;
    int same; ///< itself, or the axis that it is the same as
    AxisList parts;
    std::string hint;
    int keys = -1, queries = -1;
  };
  /// A new axis.
  int add(const Quantity &size, llvm::StringRef hint);
  /// What an axis is the same as.
  int find(int axis) const;
  /// Axes of a tensor of the file: of each place one, where it has more than one element.
  void layOut(int value);
  /// Makes axes the same, taking apart what is larger; false where they are of other sizes.
  bool unify(llvm::ArrayRef<int> a, llvm::ArrayRef<int> b);
  /// The same of two axes of one size.
  bool unifyOne(int a, int b);
  /// Takes an axis apart.
  bool refine(int axis, const Quantity &outer);
  /// The layout with the places of a view.
  bool view(const Layout &before, const Sizes &after, Layout &result);
  /// The layout of a value, found where it is a tensor of the file.
  Layout &layout(int value);
  /// Says what axes are for.
  void setHint(llvm::ArrayRef<int> axes, llvm::StringRef hint);

  /// Finds the axes of what an operation gives; false where they do not fit.
  bool place(const Operation &operation);
  /// Element by element: the places of all inputs are the same.
  bool placeElements(const Operation &operation, Layout &result);
  /// Of a convolution; patches take the axes of places apart.
  bool placeWindows(const Operation &operation, Layout &result);
  /// Of the results of a scan.
  bool placeRecurrent(const Operation &operation, Layout &result);
  /// Of rows of a table.
  bool placeEmbedding(const Operation &operation, Layout &result);
  /// Of parts one behind the other, whose axis is a new one.
  bool placeConcat(const Operation &operation, Layout &result);
  /// Repeated along axes that it lacks.
  void placeExpand(const Operation &operation, const Layout &before, Layout &result);
  /// Without axes, which are the same everywhere or gone.
  bool placeReduced(const Operation &operation, const Layout &before, Layout &result);
  /// Of an attention: heads, features and keys are those of queries, keys and values.
  bool placeAttend(const Operation &operation, Layout &result);
  /// Of what is added to the scores, or read by a mask.
  bool placeTerm(const ScoreTerm &term, llvm::ArrayRef<AxisList> scores);
  /// One place of what is made of several tensors element by element.
  bool join(AxisList &to, llvm::ArrayRef<int> from);
  /// Notes which axes none of the inputs has.
  void settleAbsent(Layout &result, llvm::ArrayRef<int> inputs);

  Graph &graph;
  std::vector<Misfit> &misfits;
  std::vector<Axis> list;
  std::map<int, Layout> layouts;
  std::map<unsigned, int> named;              ///< the axis of each size that is only named
  std::map<const GraphNode *, int> states;    ///< the axis of the states of recurrent nodes
  std::map<int, std::vector<AxisList>> owned; ///< by what the operation gives
};

} // namespace attn::importer
