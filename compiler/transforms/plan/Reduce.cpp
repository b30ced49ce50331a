// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fused -> memory, reductions, softmax and the places of the largest. Vectors lie along axes that
// stay, or where one that is reduced alone lies element by element, along that.
#include "compiler/transforms/plan/Buffers.h"
#include "compiler/transforms/plan/Costs.h"
#include "compiler/transforms/plan/Operands.h"
#include "compiler/transforms/plan/Ops.h"
#include "compiler/transforms/plan/Places.h"

using namespace mlir;

namespace attn::planning {

namespace {
/// The axes of all inputs: those of the result, `kept` of them, then those that are reduced.
struct ReducedAxes {
  RankedTensorType all;
  int64_t kept;
};
} // namespace

static ReducedAxes axesOfReduction(ReduceOp op) {
  RankedTensorType result = typeOf(op.getResult());
  SmallVector<int64_t> shape(result.getShape());
  SmallVector<StringAttr> names(axesOf(result));
  for (Attribute attribute : op.getOver()) {
    auto name = cast<StringAttr>(attribute);
    for (Value input : op.getInputs())
      if (int64_t d = axisIndex(input.getType(), name); d >= 0) {
        shape.push_back(typeOf(input).getDimSize(d));
        names.push_back(name);
        break;
      }
  }
  return {axesTensor(Float32Type::get(op.getContext()), shape, names), result.getRank()};
}

/// Where each axis of a tensor is one run of memory; a copy, where it is not so.
static FailureOr<BufferView> readRuns(FunctionPlan &plan, Operation *op, Value tensor) {
  BufferView view = viewOf(plan, tensor);
  if (llvm::all_of(view.axes, [](ArrayRef<Atom> axis) { return collapse(axis).size() <= 1; }))
    return view;
  BufferView whole = allocate(plan, typeOf(tensor), op, view.element());
  if (failed(copy(plan, op, view, whole)))
    return failure();
  return whole;
}

/// Whether the last axis is long and lies element by element, and is reduced.
static bool isAcross(const BufferView &view, const ReducedAxes &axes) {
  constexpr int64_t fewElements = 16; // a vector
  SmallVector<Atom> last = collapse(view.axes.back());
  if (last.size() != 1 || !(last[0].stride == SizePolynomial(1)))
    return false;
  return !last[0].size.isConstant() || last[0].size.constant() >= fewElements;
}

/// The first of the kept axes that together are columns in all views.
static int64_t firstColumnAxis(ArrayRef<BufferView> views, int64_t kept) {
  auto isOneRun = [&](int64_t from) {
    return llvm::all_of(
        views, [&](const BufferView &view) { return view.collapsed(from, kept).size() <= 1; });
  };
  int64_t first = kept;
  while (first > 0 && isOneRun(first - 1))
    --first;
  return first;
}

LogicalResult emit(FunctionPlan &plan, ReduceOp op) {
  ReducedAxes axes = axesOfReduction(op);
  int64_t rank = axes.all.getRank(), rows = axes.kept;
  SmallVector<BufferView, 2> views;
  for (Value input : op.getInputs()) {
    auto view = readRuns(plan, op, input);
    if (failed(view))
      return failure();
    views.push_back(broadcast(*view, input.getType(), axes.all));
  }
  BufferView out = outputOf(plan, op.getResult());
  bool across = llvm::any_of(views, [&](const BufferView &view) { return isAcross(view, axes); });
  if (!across) {
    views.push_back(out);
    rows = firstColumnAxis(views, axes.kept);
    views.pop_back();
  }
  SmallVector<Value> inputs;
  int64_t reduced = rank - axes.kept;
  for (const BufferView &view : views) {
    SmallVector<Atom> atoms = atLeastOne(view.collapsed(0, rows));
    // Of one input the fewest dims; of several the same.
    SmallVector<Atom> elements;
    if (views.size() == 1)
      elements = atLeastOne(view.collapsed(axes.kept, rank));
    else
      for (int64_t d = axes.kept; d < rank; ++d)
        llvm::append_range(elements, atLeastOne(view.collapsed(d, d + 1)));
    reduced = static_cast<int64_t>(elements.size());
    atoms.append(elements);
    if (!across)
      atoms.append(atLeastOne(view.collapsed(rows, axes.kept)));
    inputs.push_back(memrefOf(plan, view, atoms));
  }
  auto result = rowsAndColumns(plan, op, out, rows);
  if (failed(result))
    return failure();
  auto kernel = ReduceKernelOp::create(plan.builder, op.getLoc(), inputs, *result, op.getKind(),
                                       reduced, across);
  op.getBody().cloneInto(&kernel.getBody(), plan.scalars);
  barrier(plan, op);
  return success();
}

/// What an op of one axis reads and writes, as rows along that axis.
template <typename KernelOp, typename OpT>
static LogicalResult emitAlong(FunctionPlan &plan, OpT op) {
  auto rowsAlong = [&](BufferView view) {
    int64_t axis = op.getAxis();
    std::rotate(view.axes.begin() + axis, view.axes.begin() + axis + 1, view.axes.end());
    return rowsAndColumns(plan, op, view, static_cast<int64_t>(view.axes.size()) - 1);
  };
  auto input = readRuns(plan, op, op.getInput());
  if (failed(input))
    return failure();
  auto rows = rowsAlong(*input), out = rowsAlong(outputOf(plan, op.getResult()));
  if (failed(rows) || failed(out))
    return failure();
  KernelOp::create(plan.builder, op.getLoc(), *rows, *out);
  barrier(plan, op);
  return success();
}

LogicalResult emit(FunctionPlan &plan, SoftmaxOp op) {
  return emitAlong<SoftmaxKernelOp>(plan, op);
}

LogicalResult emit(FunctionPlan &plan, TopkOp op) { return emitAlong<TopkKernelOp>(plan, op); }

} // namespace attn::planning
