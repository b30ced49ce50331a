// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fused -> memory, borders. What is padded is computed within its borders or copied there; the
// borders are filled by a kernel for each side:
//
//   1 1 1 1 1      the rows before and behind all that they are as long as, then the columns
//   2 x x x 3
//   4 4 4 4 4
#include "compiler/transforms/plan/Buffers.h"
#include "compiler/transforms/plan/Costs.h"
#include "compiler/transforms/plan/Operands.h"
#include "compiler/transforms/plan/Ops.h"
#include "compiler/transforms/plan/Places.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace attn::planning {

/// Fills a piece of a buffer with one value.
static void fill(FunctionPlan &plan, PadOp op, const BufferView &piece) {
  int64_t rank = static_cast<int64_t>(piece.axes.size()), first = rank;
  while (first > 0 && piece.collapsed(first - 1, rank).size() <= 1)
    --first;
  SmallVector<Atom> atoms = atLeastOne(piece.collapsed(0, first));
  atoms.append(atLeastOne(piece.collapsed(first, rank)));
  auto kernel =
      MapKernelOp::create(plan.builder, op.getLoc(), ValueRange(), memrefOf(plan, piece, atoms));
  OpBuilder::InsertionGuard guard(plan.builder);
  plan.builder.createBlock(&kernel.getBody());
  YieldOp::create(plan.builder, op.getLoc(),
                  arith::ConstantOp::create(plan.builder, op.getLoc(), op.getValueAttr()));
}

LogicalResult emit(FunctionPlan &plan, PadOp op) {
  auto known = plan.places.views.find(op.getResult());
  BufferView whole =
      known != plan.places.views.end() ? known->second : outputOf(plan, op.getResult());
  RankedTensorType input = typeOf(op.getInput()), result = typeOf(op.getResult());
  BufferView piece = whole; // less, by the borders filled
  for (int64_t d = 0; d < input.getRank(); ++d) {
    SizePolynomial low(op.getLow()[d]), size = sizeOf(input, d);
    if (op.getLow()[d])
      fill(plan, op, piece.window(d, 0, low));
    if (op.getHigh()[d])
      fill(plan, op, piece.window(d, low + size, op.getHigh()[d]));
    piece = piece.window(d, low, size);
  }
  SizePolynomial border = elementsOf(result) - elementsOf(input);
  barrier(plan, op, {"padding", 0, border * SizePolynomial(4)});
  auto placed = plan.places.partOf.find(withoutRelabels(op.getInput()));
  if (placed != plan.places.partOf.end() && placed->second.first == op)
    return success(); // computed in place
  return copy(plan, op, viewOf(plan, op.getInput()), piece);
}

} // namespace attn::planning
