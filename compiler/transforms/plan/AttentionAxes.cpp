// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A query's axes -> batch dims and rows of the kernel.
#include "compiler/transforms/plan/AttentionAxes.h"

using namespace mlir;

namespace attn::planning {

/// Whether a hook reads a position.
static bool readsPositions(AttentionOp op) {
  for (Region *region : op.getRegions())
    for (Block &block : *region)
      for (BlockArgument argument : block.getArguments())
        if (argument.getType().isIndex() && !argument.use_empty())
          return true;
  return false;
}

/// What some axes are made of, one after the other.
static SmallVector<Atom> atomsOf(const BufferView &view, ArrayRef<int64_t> axes) {
  SmallVector<Atom> atoms;
  for (int64_t axis : axes)
    llvm::append_range(atoms, view.axes[axis]);
  return collapse(atoms);
}

QueryAxes divideAxes(AttentionOp op, const BufferView &query, ArrayRef<BufferView> outputs) {
  QueryAxes axes;
  RankedTensorType type = typeOf(op.getQuery());
  for (int64_t d = 0; d + 1 < type.getRank(); ++d) {
    StringAttr name = axesOf(type)[d];
    bool isOwn =
        axisIndex(op.getKey().getType(), name) < 0 && axisIndex(op.getValue().getType(), name) < 0;
    (isOwn ? axes.rows : axes.batch).push_back(d);
  }
  auto isOneRun = [&](const BufferView &view) { return atomsOf(view, axes.rows).size() <= 1; };
  if (axes.rows.size() <= 1 ||
      (!readsPositions(op) && isOneRun(query) && llvm::all_of(outputs, isOneRun)))
    return axes;
  // The one with most queries, of equals the last; a number known when running is a large one.
  SmallVector<int64_t> own = axes.rows;
  auto sizeOf = [&](int64_t d) {
    return type.isDynamicDim(d) ? std::numeric_limits<int64_t>::max() : type.getDimSize(d);
  };
  axes.rows = {*std::max_element(own.rbegin(), own.rend(),
                                 [&](int64_t a, int64_t b) { return sizeOf(a) < sizeOf(b); })};
  for (int64_t d : own)
    if (d != axes.rows.front())
      axes.batch.push_back(d);
  return axes;
}

Atom atomOf(const BufferView &view, int64_t axis, RankedTensorType type) {
  SmallVector<Atom> atoms = collapse(view.axes[axis]);
  return atoms.empty() ? Atom{sizeOf(type, axis), 1} : atoms.front();
}

Atom rowsOf(const BufferView &view, const QueryAxes &axes) {
  SmallVector<Atom> atoms = atomsOf(view, axes.rows);
  return atoms.empty() ? Atom{1, 1} : atoms.front();
}

} // namespace attn::planning
