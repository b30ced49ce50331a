// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fused -> memory, ops on rows: rows of tables, rotary embeddings.
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
