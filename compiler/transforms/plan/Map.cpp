// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fused -> memory, maps: scalar functions on what elements are in memory.
#include "compiler/transforms/plan/Buffers.h"
#include "compiler/transforms/plan/Costs.h"
#include "compiler/transforms/plan/Elements.h"
#include "compiler/transforms/plan/InPlace.h"
#include "compiler/transforms/plan/Operands.h"
#include "compiler/transforms/plan/Ops.h"
#include "compiler/transforms/plan/Places.h"

using namespace mlir;

namespace attn::planning {

/// Clones a map's function, on what its elements are in memory.
static void cloneBody(OpBuilder &builder, MapOp op, MapKernelOp kernel, IRMapping mapping) {
  OpBuilder::InsertionGuard guard(builder);
  Location loc = op.getLoc();
  Block *block = builder.createBlock(&kernel.getBody());
  for (auto [argument, input] : llvm::zip_equal(op.getBody().getArguments(), kernel.getInputs())) {
    Value value = block->addArgument(cast<MemRefType>(input.getType()).getElementType(), loc);
    mapping.map(argument, fromStored(builder, loc, value, argument.getType()));
  }
  for (Operation &inner : op.getBody().front().without_terminator())
    builder.clone(inner, mapping);
  Value result =
      mapping.lookupOrDefault(cast<YieldOp>(op.getBody().front().getTerminator()).getValue());
  Type stored = cast<MemRefType>(kernel.getOut().getType()).getElementType();
  YieldOp::create(builder, loc, toStored(builder, loc, result, stored));
}

LogicalResult emit(FunctionPlan &plan, MapOp op) {
  if (isInPlace(plan, op)) {
    plan.places.views[op.getResult()] = viewOf(plan, op.getInputs()[0]);
    return success();
  }
  RankedTensorType result = typeOf(op.getResult());
  SmallVector<Value> inputs;
  int64_t rows = std::max<int64_t>(result.getRank() - 1, 0);
  BufferView place = outputOf(plan, op.getResult());
  // A conversion of what lies in one piece is one row: vectors that end within a row cost more than
  // others where elements are narrow.
  auto isPiece = [](const BufferView &view) {
    return view.collapsed(0, view.axes.size()).size() == 1;
  };
  bool isConversion = op.getInputs().size() == 1 &&
                      typeOf(op.getInputs()[0]).getElementType() != result.getElementType();
  if (isConversion && isPiece(viewOf(plan, op.getInputs()[0])) && isPiece(place))
    rows = 0;
  for (Value input : op.getInputs()) {
    auto own = RankedTensorType::get(result.getShape(), typeOf(input).getElementType(),
                                     result.getEncoding());
    auto buffer =
        readRows(plan, op, broadcast(viewOf(plan, input), input.getType(), own), own, rows);
    if (failed(buffer))
      return failure();
    inputs.push_back(*buffer);
  }
  auto out = rowsAndColumns(plan, op, place, rows);
  if (failed(out))
    return failure();
  auto kernel = MapKernelOp::create(plan.builder, op.getLoc(), inputs, *out);
  cloneBody(plan.builder, op, kernel, plan.scalars);
  barrier(plan, op);
  return success();
}

} // namespace attn::planning
