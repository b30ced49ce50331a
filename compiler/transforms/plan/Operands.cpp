// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors as kernels read them: rows and columns, repeated along axes, or copied first.
#include "compiler/transforms/plan/Operands.h"
#include "compiler/transforms/plan/Buffers.h"
#include "compiler/transforms/plan/Costs.h"
#include "compiler/transforms/plan/Elements.h"
#include "compiler/transforms/plan/Places.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace attn::planning {

FailureOr<Value> rowsAndColumns(FunctionPlan &plan, Operation *op, const BufferView &view,
                                int64_t rowAxes) {
  SmallVector<Atom> atoms = atLeastOne(view.collapsed(0, rowAxes));
  SmallVector<Atom> columns = view.collapsed(rowAxes, view.axes.size());
  columns = atLeastOne(columns);
  if (columns.size() != 1)
    return op->emitError("expected columns that lie one after the other");
  atoms.push_back(columns.front());
  return memrefOf(plan, view, atoms);
}

FailureOr<Value> readRows(FunctionPlan &plan, Operation *op, const BufferView &view,
                          RankedTensorType type, int64_t rowAxes) {
  if (view.collapsed(rowAxes, view.axes.size()).size() <= 1)
    return rowsAndColumns(plan, op, view, rowAxes);
  BufferView whole = allocate(plan, type, op, view.element());
  if (failed(copy(plan, op, view, whole)))
    return failure();
  return rowsAndColumns(plan, op, whole, rowAxes);
}

BufferView broadcast(const BufferView &view, Type from, Type to) {
  BufferView result{view.base, view.offset, {}};
  auto type = cast<RankedTensorType>(to);
  for (auto [d, name] : llvm::enumerate(axesOf(to))) {
    int64_t own = axisIndex(from, name);
    if (own >= 0)
      result.axes.push_back(view.axes[own]);
    else
      result.axes.push_back({Atom{sizeOf(type, d), 0}});
  }
  return result;
}

FailureOr<BufferView> readDense(FunctionPlan &plan, Operation *op, Value tensor) {
  BufferView view = viewOf(plan, tensor);
  auto isOneRun = [](ArrayRef<Atom> axis) { return collapse(axis).size() <= 1; };
  SmallVector<Atom> last = collapse(view.axes.back());
  bool isDense = last.empty() || (last.size() == 1 && last[0].stride == SizePolynomial(1));
  if (isDense && llvm::all_of(view.axes, isOneRun))
    return view;
  BufferView whole = allocate(plan, typeOf(tensor), op, view.element());
  if (failed(copy(plan, op, view, whole)))
    return failure();
  return whole;
}

LogicalResult copy(FunctionPlan &plan, Operation *op, BufferView from, BufferView to) {
  if (from.axes.empty())
    from.axes.push_back({Atom{1, 1}}), to.axes.push_back({Atom{1, 1}});
  // A last axis of several atoms becomes several axes.
  if (SmallVector<Atom> atoms = collapse(from.axes.back()); atoms.size() > 1) {
    SmallVector<Atom> target = atLeastOne(collapse(to.axes.back()));
    from.axes.pop_back(), to.axes.pop_back();
    SizePolynomial stride = target.back().stride;
    SmallVector<SmallVector<Atom, 2>> split;
    for (const Atom &atom : llvm::reverse(atoms)) {
      split.push_back({Atom{atom.size, stride}});
      stride = stride * atom.size;
    }
    for (const Atom &atom : atoms)
      from.axes.push_back({atom});
    llvm::append_range(to.axes, llvm::reverse(split));
  }
  int64_t rows = static_cast<int64_t>(to.axes.size()) - 1;
  SizePolynomial elements(1);
  for (const auto &axis : to.axes)
    for (const Atom &atom : axis)
      elements = elements * atom.size;
  auto in = rowsAndColumns(plan, op, from, rows), out = rowsAndColumns(plan, op, to, rows);
  if (failed(in) || failed(out))
    return failure();
  auto kernel = MapKernelOp::create(plan.builder, op->getLoc(), ValueRange(*in), *out);
  OpBuilder::InsertionGuard guard(plan.builder);
  Type element = from.element();
  Block *block = plan.builder.createBlock(&kernel.getBody(), {}, {element}, {op->getLoc()});
  Value value = block->getArgument(0);
  if (element != to.element()) { // by way of f32: there is none from bf16 to f16
    if (element.isInteger(16))   // the bits of bf16
      value =
          arith::BitcastOp::create(plan.builder, op->getLoc(), plan.builder.getBF16Type(), value);
    if (!element.isF32())
      value = arith::ExtFOp::create(plan.builder, op->getLoc(), plan.builder.getF32Type(), value);
  }
  YieldOp::create(plan.builder, op->getLoc(),
                  toStored(plan.builder, op->getLoc(), value, to.element()));
  plan.builder.setInsertionPointAfter(kernel);
  barrier(plan, op, KernelCost::ofCopy(elements, element));
  return success();
}

/// Whether a pointer is to a table of constants.
static bool isTable(Value pointer) {
  auto view = pointer.getDefiningOp<memref::ReinterpretCastOp>();
  return view && view.getSource().getDefiningOp<memref::GetGlobalOp>();
}

FailureOr<Value> passed(FunctionPlan &plan, Operation *op, Value tensor) {
  BufferView view = viewOf(plan, tensor);
  plan.frame.use(view.base);
  RankedTensorType type = typeOf(tensor);
  if (view.liesLike(BufferView::dense(type, view.base, pitchOf(type))) &&
      (plan.module.placement().passesTables || !isTable(view.base)))
    return view.base;
  bool isOfBlock = tensor.getParentBlock() == op->getBlock();
  BufferView whole =
      allocate(plan, type, isOfBlock ? lastUse(plan.places, tensor, op->getBlock()) : op);
  if (failed(copy(plan, op, view, whole)))
    return failure();
  if (isOfBlock)
    plan.places.views[tensor] = whole;
  return whole.base;
}

} // namespace attn::planning
