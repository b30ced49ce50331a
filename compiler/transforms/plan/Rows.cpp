// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fused -> memory, ops on rows: rows of tables, picked elements, rotary embeddings.
#include "compiler/transforms/plan/Buffers.h"
#include "compiler/transforms/plan/Costs.h"
#include "compiler/transforms/plan/Operands.h"
#include "compiler/transforms/plan/Ops.h"
#include "compiler/transforms/plan/Places.h"

using namespace mlir;

namespace attn::planning {

LogicalResult emit(FunctionPlan &plan, LookupOp op) {
  RankedTensorType table = typeOf(op.getTable()), indices = typeOf(op.getIndices());
  BufferView rows = viewOf(plan, op.getTable());
  if (op.isBeginning()) {
    rows.axes[0] = {Atom{sizeOf(indices, 0), rows.axes[0].front().stride}};
    plan.places.views[op.getResult()] = rows;
    return success();
  }
  auto tableBuffer = readRows(plan, op, rows, table, 1);
  BufferView places = viewOf(plan, op.getIndices());
  Value indexBuffer = memrefOf(plan, places, atLeastOne(places.collapsed(0, indices.getRank())));
  auto out = rowsAndColumns(plan, op, outputOf(plan, op.getResult()), indices.getRank());
  if (failed(tableBuffer) || failed(out))
    return failure();
  LookupKernelOp::create(plan.builder, op.getLoc(), *tableBuffer, indexBuffer, *out);
  barrier(plan, op);
  return success();
}

/// The atoms of an axis, one after the other.
static void appendAxis(SmallVector<Atom> &atoms, ArrayRef<Atom> axis) {
  llvm::append_range(atoms, atLeastOne(collapse(axis)));
}

LogicalResult emit(FunctionPlan &plan, PickOp op) {
  RankedTensorType input = typeOf(op.getInput()), indices = typeOf(op.getIndices()),
                   result = typeOf(op.getResult());
  BufferView table = viewOf(plan, op.getInput()), places = viewOf(plan, op.getIndices());
  int64_t picked = op.getAxis(), added = op.newAxes().size(), rank = result.getRank();
  // The axis of the input that is the result's axis d; -1 for a new one.
  auto ownAxis = [&](int64_t d) {
    return d < picked ? d : d < picked + added ? -1 : d - added + 1;
  };
  // The last axis is columns where all of a row has one index.
  int64_t columns = axisIndex(indices, axesOf(result).back()) < 0 ? ownAxis(rank - 1) : -1;
  auto isScattered = [&](int64_t axis) { return collapse(table.axes[axis]).size() > 1; };
  if (isScattered(picked) || (columns >= 0 && isScattered(columns))) {
    BufferView whole = allocate(plan, input, op, table.element());
    if (failed(copy(plan, op, table, whole)))
      return failure();
    table = whole;
  }
  SmallVector<Atom> from, at;
  int64_t rows = columns < 0 ? rank : rank - 1;
  for (int64_t d = 0; d < rows; ++d) {
    Atom repeated{sizeOf(result, d), 0};
    int64_t own = ownAxis(d), index = axisIndex(indices, axesOf(result)[d]);
    appendAxis(from, own < 0 ? ArrayRef<Atom>(repeated) : ArrayRef<Atom>(table.axes[own]));
    appendAxis(at, index < 0 ? ArrayRef<Atom>(repeated) : ArrayRef<Atom>(places.axes[index]));
  }
  appendAxis(from, table.axes[picked]);
  appendAxis(from, columns < 0 ? ArrayRef<Atom>() : ArrayRef<Atom>(table.axes[columns]));
  auto out = rowsAndColumns(plan, op, outputOf(plan, op.getResult()), rows);
  if (failed(out))
    return failure();
  LookupKernelOp::create(plan.builder, op.getLoc(), memrefOf(plan, table, from),
                         memrefOf(plan, places, at), *out);
  barrier(plan, op);
  return success();
}

LogicalResult emit(FunctionPlan &plan, RotaryOp op) {
  RankedTensorType type = typeOf(op.getInput()), angles = typeOf(op.getCos());
  int64_t rows = type.getRank() - 1;
  auto input = readRows(plan, op, viewOf(plan, op.getInput()), type, rows);
  // Angles along all rows: [rows..., pairs].
  SmallVector<int64_t> shape(type.getShape().drop_back());
  SmallVector<StringAttr> names(axesOf(type).drop_back());
  shape.push_back(angles.getShape().back());
  names.push_back(axesOf(angles).back());
  Type whole = axesTensor(type.getElementType(), shape, names);
  auto cos = rowsAndColumns(plan, op, broadcast(viewOf(plan, op.getCos()), angles, whole), rows),
       sin = rowsAndColumns(plan, op, broadcast(viewOf(plan, op.getSin()), angles, whole), rows),
       out = rowsAndColumns(plan, op, outputOf(plan, op.getResult()), rows);
  if (failed(input) || failed(cos) || failed(sin) || failed(out))
    return failure();
  RotaryKernelOp::create(plan.builder, op.getLoc(), *input, *cos, *sin, *out, op.getInterleaved());
  barrier(plan, op);
  return success();
}

} // namespace attn::planning
