// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fused -> memory, scans that are not one kernel (ScanKernel.cpp): a loop over steps, whose kernels
// read each input where its step lies. A state that is also what the step gives is read where the
// step before has written it, in a row of the stacked result, which has one row more for the first
// state:
//
//   rows: h0 h1 h2 … hT      step t reads row t and writes row t + 1; the result is rows 1 to T
//   rows: h0 h1 … hT         in reverse, step t reads row t + 1 and writes row t; rows 0 to T - 1
//
// Other states go back and forth between two buffers.
#include "compiler/transforms/plan/Buffers.h"
#include "compiler/transforms/plan/Function.h"
#include "compiler/transforms/plan/Operands.h"
#include "compiler/transforms/plan/Ops.h"
#include "compiler/transforms/plan/Places.h"
#include "compiler/transforms/plan/ScanKernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace attn::planning {

namespace {

/// Rows of what steps give or pass on, in one buffer: the axis of the steps, then a row's own.
struct Rows {
  BufferView whole;

  /// The row at a step, or at another place.
  BufferView row(const SizePolynomial &at) const {
    BufferView view = whole.window(0, at, 1);
    view.axes.erase(view.axes.begin());
    return view;
  }

  /// `count` rows, with the axis of the steps at `axis`.
  BufferView rows(const SizePolynomial &first, const SizePolynomial &count, int64_t axis) const {
    BufferView view = whole.window(0, first, count);
    // An axis of one row has a stride, too.
    view.axes.front() = {Atom{count, whole.axes.front().front().stride}};
    std::rotate(view.axes.begin(), view.axes.begin() + 1, view.axes.begin() + axis + 1);
    return view;
  }
};

/// A scan while it is planned.
struct ScanPlan {
  FunctionPlan &plan;
  ScanOp op;
  SizePolynomial steps, step; ///< How many there are; the one that the loop's body computes.
  std::vector<std::optional<Rows>> history; ///< Of states that are given, too.
  std::vector<std::optional<Rows>> stacked; ///< Of other outputs.
  SmallVector<int> stateOf;                 ///< For each output, the state that it is, or -1.
  SmallVector<Value> slots;                 ///< Of other states, two for each.

  Rows allocateRows(RankedTensorType type, const SizePolynomial &count, Operation *last);
  void matchOutputs();
  LogicalResult placeStates();
  LogicalResult emitStep(ValueRange slots);
  FailureOr<SmallVector<Value>> emitLoop(StringRef name);
  void setResults(ValueRange slots);

  SizePolynomial reads() { return op.getReverse() ? step + SizePolynomial(1) : step; }
  SizePolynomial writes() { return op.getReverse() ? step : step + SizePolynomial(1); }
};

} // namespace

static Operation *later(Operation *a, Operation *b) { return !a || a->isBeforeInBlock(b) ? b : a; }

Rows ScanPlan::allocateRows(RankedTensorType type, const SizePolynomial &count, Operation *last) {
  int64_t pitch = pitchOf(type);
  BufferView row = BufferView::dense(type, {}, pitch);
  SizePolynomial stride = row.axes.front().front().size * row.axes.front().front().stride;
  Type element = plan.module.stored(type.getElementType());
  SizePolynomial bytes = count * stride * SizePolynomial(element.getIntOrFloatBitWidth() / 8);
  row.base = plan.frame.take(bytes, element, last);
  row.axes.insert(row.axes.begin(), {Atom{count, stride}});
  return {row};
}

/// Finds the outputs that are states, and makes room for both.
void ScanPlan::matchOutputs() {
  NextOp next = op.next();
  Block *block = op->getBlock();
  history.resize(op.getInitial().size());
  stacked.resize(op.outputs().size());
  for (auto [o, value] : llvm::enumerate(next.outputs())) {
    auto state = llvm::find(next.states(), value) - next.states().begin();
    bool isState = state < static_cast<int64_t>(history.size()) && !history[state];
    stateOf.push_back(isState ? static_cast<int>(state) : -1);
    Operation *last = lastUse(plan.places, op.outputs()[o], block);
    if (isState)
      history[state] = allocateRows(typeOf(value), steps + SizePolynomial(1),
                                    later(last, lastUse(plan.places, op.states()[state], block)));
    else
      stacked[o] = allocateRows(typeOf(value), steps, last);
  }
}

/// Puts the first states where the first step reads them.
LogicalResult ScanPlan::placeStates() {
  for (auto [s, initial] : llvm::enumerate(op.getInitial())) {
    RankedTensorType type = typeOf(initial);
    BufferView first;
    if (history[s]) {
      first = history[s]->row(op.getReverse() ? steps : SizePolynomial(0));
    } else {
      Operation *last = lastUse(plan.places, op.states()[s], op->getBlock());
      first = allocate(plan, type, last);
      slots.append({first.base, allocate(plan, type, last).base});
    }
    if (failed(copy(plan, op, viewOf(plan, initial), first)))
      return failure();
  }
  return success();
}

/// The kernels of one step, which reads states in the first of each two `slots`.
LogicalResult ScanPlan::emitStep(ValueRange slots) {
  for (auto [input, argument] : llvm::zip_equal(op.getInputs(), op.stepArguments())) {
    int64_t axis = axisIndex(input.getType(), op.getAxis());
    BufferView view = viewOf(plan, input).window(axis, step, 1);
    view.axes.erase(view.axes.begin() + axis);
    plan.places.views[argument] = view;
  }
  NextOp next = op.next();
  std::vector<BufferView> places;
  for (auto [o, value] : llvm::enumerate(next.outputs()))
    places.push_back(stacked[o] ? stacked[o]->row(step) : history[stateOf[o]]->row(writes()));
  size_t slot = 0;
  for (auto [s, argument] : llvm::enumerate(op.stateArguments())) {
    RankedTensorType type = typeOf(argument);
    if (history[s]) {
      plan.places.views[argument] = history[s]->row(reads());
      places.push_back(history[s]->row(writes()));
      continue;
    }
    auto dense = [&](size_t i) { return BufferView::dense(type, slots[i], pitchOf(type)); };
    plan.places.views[argument] = dense(slot);
    places.push_back(dense(slot + 1));
    slot += 2;
  }
  for (auto [value, place] : llvm::zip_equal(next.getValues(), places))
    chooseDestination(plan, value, place);
  if (failed(emitBlock(plan, op.getBody().front())))
    return failure();
  for (auto [i, value] : llvm::enumerate(next.getValues())) {
    bool isGiven = i < stateOf.size() && stateOf[i] >= 0; // by the state that it is
    if (!isGiven && failed(deliver(plan, next, value, places[i])))
      return failure();
  }
  plan.frame.releaseAfter(next);
  return success();
}

/// Each of two slots in the place of the other.
static SmallVector<Value> swapped(ValueRange slots) {
  SmallVector<Value> result;
  for (size_t i = 0; i < slots.size(); i += 2)
    result.append({slots[i + 1], slots[i]});
  return result;
}

/// The loop over steps, in which `name` is the step; the slots after it.
FailureOr<SmallVector<Value>> ScanPlan::emitLoop(StringRef name) {
  if (steps == SizePolynomial(1)) {
    step = 0;
    if (failed(emitStep(slots)))
      return failure();
    return swapped(slots);
  }
  OpBuilder &builder = plan.builder;
  Location loc = op.getLoc();
  Value count = steps.emit(builder, loc, [&](StringRef dim) { return plan.dim(dim); }),
        none = arith::ConstantIndexOp::create(builder, loc, 0),
        one = arith::ConstantIndexOp::create(builder, loc, 1);
  auto loop = scf::ForOp::create(builder, loc, none, count, one, slots,
                                 [](OpBuilder &b, Location l, Value, ValueRange carried) {
                                   scf::YieldOp::create(b, l, swapped(carried));
                                 });
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(loop.getBody()->getTerminator());
  Value number = loop.getInductionVar();
  if (op.getReverse()) {
    Value last = arith::SubIOp::create(builder, loc, count, one);
    number = arith::SubIOp::create(builder, loc, last, number);
  }
  plan.arguments.dims[name] = number;
  if (failed(emitStep(loop.getRegionIterArgs())))
    return failure();
  return SmallVector<Value>(loop.getResults());
}

/// Says where the results lie; `slots` are those that a further step would read and write.
void ScanPlan::setResults(ValueRange slots) {
  for (auto [o, output] : llvm::enumerate(op.outputs())) {
    int64_t axis = axisIndex(output.getType(), op.getAxis());
    plan.places.views[output] =
        stacked[o] ? stacked[o]->rows(0, steps, axis)
                   : history[stateOf[o]]->rows(op.getReverse() ? 0 : 1, steps, axis);
  }
  size_t slot = 0;
  for (auto [s, state] : llvm::enumerate(op.states())) {
    if (history[s]) {
      plan.places.views[state] = history[s]->row(op.getReverse() ? SizePolynomial(0) : steps);
      continue;
    }
    plan.places.views[state] =
        BufferView::dense(typeOf(state), slots[slot], pitchOf(typeOf(state)));
    slot += 2;
  }
}

LogicalResult emit(FunctionPlan &plan, ScanOp op) {
  if (isOneKernel(plan, op))
    return emitAsOneKernel(plan, op);
  // The step is a size for the plan of the body: places at it are sums of such.
  std::string name = "#step" + std::to_string(plan.arguments.dims.size());
  RankedTensorType input = typeOf(op.getInputs().front());
  ScanPlan scan{
      plan, op, sizeOf(input, axisIndex(input, op.getAxis())), SizePolynomial::dim(name), {}, {},
      {},   {}};
  for (Value tensor : op.getInputs()) {
    int64_t axis = axisIndex(tensor.getType(), op.getAxis());
    if (collapse(viewOf(plan, tensor).axes[axis]).size() <= 1)
      continue;
    // Its steps are not equally far apart.
    RankedTensorType type = typeOf(tensor);
    BufferView whole = allocate(plan, type, op, viewOf(plan, tensor).element());
    if (failed(copy(plan, op, viewOf(plan, tensor), whole)))
      return failure();
    plan.places.views[tensor] = whole;
  }
  scan.matchOutputs();
  if (failed(scan.placeStates()))
    return failure();
  FailureOr<SmallVector<Value>> slots = scan.emitLoop(name);
  if (failed(slots))
    return failure();
  scan.setResults(*slots);
  return success();
}

} // namespace attn::planning
