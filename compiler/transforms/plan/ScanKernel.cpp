// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fused -> memory, recurrences that are one kernel. Of a cell that computes elements one by one, or
// combines those of one axis,
//   s' = a * s + k v^T,  y = sum over E of q * s'          s: [rows..., E, F]
// each column F of a row's state goes its own way. So a thread takes some columns, which stay in
// its nearest cache, through all steps: the state is read and written once, whatever the steps are.
//
// The body becomes one of numbers, for an element of each tensor; what is repeated along an axis is
// the same number there.
#include "compiler/transforms/plan/ScanKernel.h"
#include "compiler/transforms/plan/Buffers.h"
#include "compiler/transforms/plan/Costs.h"
#include "compiler/transforms/plan/Operands.h"
#include "compiler/transforms/plan/Places.h"
#include "dialect/Scans.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace attn::planning {

/// The most bytes of a thread's room.
static constexpr int64_t mostRoom = int64_t(1) << 20;

namespace {

/// A body whose tensors have axes of the first state alone.
class ScanShape {
public:
  explicit ScanShape(ScanOp op) : op(op), all(typeOf(op.getInitial().front())) {}

  /// Whether the recurrence can be one kernel.
  bool fits();

  /// An operand's place as [rows..., steps, depth, columns], or without steps.
  /// `like` is the body's tensor.
  BufferView ordered(const BufferView &view, Value tensor, Value like, bool hasSteps) const;
  /// How many of these axes are rows.
  int64_t rowAxes() const { return all.getRank() - (depth >= 0 ? 2 : 1); }
  /// Floats of a thread's room.
  int64_t roomFloats() const;
  /// What the body computes, in numbers; ends with attn.step.
  void cloneBody(OpBuilder &builder, ArrayRef<Value> captures, Block &into) const;
  /// Tensors from outside of the body that it reads.
  ArrayRef<Value> captures() const { return outside.getArrayRef(); }

private:
  bool fitsOp(Operation &op);
  bool fits(MapOp map);
  bool fits(ReduceOp reduce);
  bool setAxes(Value tensor, ArrayRef<Value> from);
  /// The axes of a tensor as those of the first state; false where it has another.
  bool readAxes(Value tensor);
  bool isKnown(Value tensor) { return axes.count(tensor) || readAxes(tensor); }
  bool isWhole(Value tensor) const;
  int64_t sizeOfDepth(Value tensor) const {
    return depth >= 0 && llvm::is_contained(axes.lookup(tensor), depth) ? all.getDimSize(depth) : 1;
  }

  mutable ScanOp op; ///< Whose accessors are not const.
  RankedTensorType all;
  DenseMap<Value, SmallVector<int64_t, 4>> axes; ///< Of a body's tensor, by its dims.
  llvm::SetVector<Value> outside;
  int64_t depth = -1, columns = -1; ///< Axes of the first state.
};

} // namespace

bool ScanShape::readAxes(Value tensor) {
  auto type = dyn_cast<RankedTensorType>(tensor.getType());
  if (!type || !type.getElementType().isF32())
    return false;
  SmallVector<int64_t, 4> own;
  for (auto [d, name] : llvm::enumerate(axesOf(type))) {
    own.push_back(axisIndex(all, name));
    if (own.back() < 0 || all.getDimSize(own.back()) != type.getDimSize(d))
      return false;
  }
  axes[tensor] = own;
  if (tensor.getParentBlock() != &op.getBody().front())
    outside.insert(tensor);
  return true;
}

/// The axes of a result, by the names of those that it is computed `from`.
bool ScanShape::setAxes(Value tensor, ArrayRef<Value> from) {
  RankedTensorType type = typeOf(tensor);
  if (!type.getElementType().isF32())
    return false;
  SmallVector<int64_t, 4> own;
  for (auto [d, name] : llvm::enumerate(axesOf(type))) {
    int64_t axis = -1;
    for (Value input : from)
      if (int64_t at = axisIndex(input.getType(), name); at >= 0) {
        if (axis >= 0 && axis != axes[input][at])
          return false;
        axis = axes[input][at];
      }
    if (axis < 0) // repeated along it
      axis = axisIndex(all, name);
    if (axis < 0 || all.getDimSize(axis) != type.getDimSize(d))
      return false;
    own.push_back(axis);
  }
  axes[tensor] = own;
  return true;
}

/// The constant that a value of a map's body is, if it stands outside of that.
static Operation *constantOutside(Value value, Region &body) {
  Operation *from = value.getDefiningOp();
  return from && value.getParentRegion() != &body && from->hasTrait<OpTrait::ConstantLike>()
             ? from
             : nullptr;
}

/// Whether a body of numbers is one of floats that reads nothing else but constants.
static bool isOfFloats(Region &body) {
  auto isNumber = [](Type type) { return type.isF32() || type.isInteger(1); };
  for (Operation &op : body.front()) {
    if (isa<YieldOp>(op) || op.hasTrait<OpTrait::ConstantLike>())
      continue;
    if (op.getNumRegions() || !OpTrait::hasElementwiseMappableTraits(&op) ||
        !llvm::all_of(op.getResultTypes(), isNumber))
      return false;
    for (Value operand : op.getOperands())
      if (operand.getParentRegion() != &body && !constantOutside(operand, body))
        return false;
  }
  Value result = body.front().getTerminator()->getOperand(0);
  return result.getParentRegion() == &body || constantOutside(result, body);
}

bool ScanShape::fits(MapOp map) {
  SmallVector<Value> inputs(map.getInputs());
  return llvm::all_of(inputs, [&](Value input) { return isKnown(input); }) &&
         isOfFloats(map.getBody()) && setAxes(map.getResult(), inputs);
}

bool ScanShape::fits(ReduceOp reduce) {
  SmallVector<Value> inputs(reduce.getInputs());
  if (reduce.getKind() == Reduction::ArgMax || reduce.getOver().size() != 1 ||
      !llvm::all_of(inputs, [&](Value input) { return isKnown(input); }) ||
      (!reduce.getBody().empty() && !isOfFloats(reduce.getBody())))
    return false;
  for (Value input : inputs)
    if (int64_t at = axisIndex(input.getType(), cast<StringAttr>(reduce.getOver()[0])); at >= 0) {
      int64_t axis = axes[input][at];
      if (depth >= 0 && depth != axis)
        return false;
      depth = axis;
    }
  return setAxes(reduce.getResult(), inputs);
}

bool ScanShape::fitsOp(Operation &inner) {
  if (auto map = dyn_cast<MapOp>(inner))
    return fits(map);
  if (auto reduce = dyn_cast<ReduceOp>(inner))
    return fits(reduce);
  if (auto relabel = dyn_cast<RelabelOp>(inner)) {
    if (!isKnown(relabel.getInput()))
      return false;
    axes[relabel.getResult()] = axes[relabel.getInput()];
    return true;
  }
  auto turned = dyn_cast<RearrangeOp>(inner);
  auto isOne = [](int64_t atoms) { return atoms == 1; };
  if (!turned || !llvm::all_of(turned.getSplit(), isOne) ||
      !llvm::all_of(turned.getMerge(), isOne) || !isKnown(turned.getInput()))
    return false;
  SmallVector<int64_t, 4> own;
  for (int64_t from : turned.getOrder())
    own.push_back(axes[turned.getInput()][from]);
  axes[turned.getResult()] = own;
  return true;
}

/// Whether a tensor has all axes but that of depth, which it may have.
bool ScanShape::isWhole(Value tensor) const {
  auto own = axes.find(tensor);
  if (own == axes.end())
    return false;
  for (int64_t axis = 0; axis < all.getRank(); ++axis)
    if (axis != depth && llvm::count(own->second, axis) != 1)
      return false;
  return llvm::count(own->second, depth) <= 1;
}

int64_t ScanShape::roomFloats() const {
  int64_t floats = 0;
  for (Value state : op.stateArguments())
    floats += sizeOfDepth(state) * mostScanColumns;
  return floats;
}

bool ScanShape::fits() {
  for (Value argument : op.getBody().getArguments())
    if (!isKnown(argument))
      return false;
  NextOp next = op.next();
  for (Operation &inner : op.getBody().front().without_terminator())
    if (!fitsOp(inner))
      return false;
  for (int64_t axis = 0; axis < all.getRank(); ++axis)
    if (axis != depth && !all.isDynamicDim(axis))
      columns = axis;
  if (columns < 0 || (depth >= 0 && all.isDynamicDim(depth)) ||
      !llvm::all_of(
          next.getValues(), [&](Value value) { return isWhole(value); }) ||
      !llvm::all_of(op.stateArguments(), [&](Value state) { return isWhole(state); }))
    return false;
  for (auto [argument, value] : llvm::zip_equal(op.stateArguments(), next.states()))
    if (axes[argument] != axes[value])
      return false;
  return roomFloats() * 4 <= mostRoom;
}

BufferView ScanShape::ordered(const BufferView &view, Value tensor, Value like,
                              bool hasSteps) const {
  RankedTensorType type = typeOf(tensor);
  int64_t steps = hasSteps ? axisIndex(type, op.getAxis()) : -1;
  ArrayRef<int64_t> own = axes.find(like)->second;
  auto axisOf = [&](int64_t axis) -> SmallVector<Atom, 2> {
    for (int64_t d = 0, at = 0; d < type.getRank(); ++d) {
      if (d == steps)
        continue;
      if (own[at++] == axis)
        return view.axes[d];
    }
    return {Atom{axis == depth ? SizePolynomial(1) : sizeOf(all, axis), 0}};
  };
  BufferView result{view.base, view.offset, {}};
  for (int64_t axis = 0; axis < all.getRank(); ++axis)
    if (axis != depth && axis != columns)
      result.axes.push_back(axisOf(axis));
  if (steps >= 0)
    result.axes.push_back(view.axes[steps]);
  else if (hasSteps) // the same in all of them
    result.axes.push_back({Atom{
        sizeOf(typeOf(op.getInputs()[0]), axisIndex(op.getInputs()[0].getType(), op.getAxis())),
        0}});
  if (depth >= 0)
    result.axes.push_back(axisOf(depth));
  else
    result.axes.push_back({Atom{1, 0}});
  result.axes.push_back(axisOf(columns));
  return result;
}

void ScanShape::cloneBody(OpBuilder &builder, ArrayRef<Value> captures, Block &into) const {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&into);
  DenseMap<Value, Value> numbers;
  size_t given = 0;
  auto take = [&](Value tensor) { numbers[tensor] = into.getArgument(given++); };
  llvm::for_each(op.stepArguments(), take);
  llvm::for_each(captures, take);
  llvm::for_each(op.stateArguments(), take);
  auto cloned = [&](Region &body, ValueRange inputs) -> Value {
    IRMapping mapping;
    for (auto [argument, input] : llvm::zip_equal(body.getArguments(), inputs))
      mapping.map(argument, numbers.lookup(input));
    for (Operation &inner : body.front()) {
      for (Value operand : inner.getOperands())
        if (Operation *constant = constantOutside(operand, body))
          mapping.map(operand, builder.clone(*constant)->getResult(0));
      if (!isa<YieldOp>(inner))
        builder.clone(inner, mapping);
    }
    return mapping.lookup(cast<YieldOp>(body.front().getTerminator()).getValue());
  };
  for (Operation &inner : op.getBody().front().without_terminator()) {
    Value number;
    if (auto map = dyn_cast<MapOp>(inner)) {
      number = cloned(map.getBody(), map.getInputs());
    } else if (auto reduce = dyn_cast<ReduceOp>(inner)) {
      Value element = reduce.getBody().empty() ? numbers.lookup(reduce.getInputs()[0])
                                               : cloned(reduce.getBody(), reduce.getInputs());
      number =
          FoldOp::create(builder, inner.getLoc(), builder.getF32Type(), reduce.getKind(), element);
    } else {
      number = numbers.lookup(inner.getOperand(0));
    }
    numbers[inner.getResult(0)] = number;
  }
  SmallVector<Value> values;
  for (Value value : op.next().getValues())
    values.push_back(numbers.lookup(value));
  StepOp::create(builder, op.getLoc(), values);
}

bool isOneKernel(FunctionPlan &plan, ScanOp op) {
  return !plan.module.targets.isGpu() && ScanShape(op).fits();
}

/// Whether the axes behind the rows are one run of memory each, of f32.
static bool isOfRuns(const BufferView &view, int64_t rowAxes) {
  return view.element().isF32() &&
         llvm::all_of(ArrayRef(view.axes).drop_front(rowAxes),
                      [](ArrayRef<Atom> axis) { return collapse(axis).size() <= 1; });
}

/// The operations of all steps, and the bytes of what is read and written.
static KernelCost costOf(ScanOp op, const SizePolynomial &steps) {
  KernelCost cost{"recurrence", 0, 0};
  for (Operation &inner : op.getBody().front())
    if (auto compute = dyn_cast<ComputeOpInterface>(inner))
      cost.flop = cost.flop + KernelCost::of(compute).flop * steps;
  auto add = [&](ValueRange tensors) {
    for (Value tensor : tensors)
      cost.bytes = cost.bytes + elementsOf(typeOf(tensor)) * SizePolynomial(4);
  };
  add(op->getOperands());
  add(op->getResults());
  return cost;
}

LogicalResult emitAsOneKernel(FunctionPlan &plan, ScanOp op) {
  ScanShape shape(op);
  if (!shape.fits())
    return op.emitError("memory stage: a recurrence that is not one kernel");
  int64_t rows = shape.rowAxes();
  auto bufferOf = [&](const BufferView &view) {
    SmallVector<Atom> atoms = atLeastOne(view.collapsed(0, rows));
    for (size_t d = rows; d < view.axes.size(); ++d)
      llvm::append_range(atoms, atLeastOne(view.collapsed(d, d + 1)));
    return memrefOf(plan, view, atoms);
  };
  // `like`: the body's tensor, whose axes are known.
  auto read = [&](Value tensor, Value like, bool hasSteps) -> FailureOr<Value> {
    BufferView view = viewOf(plan, tensor), own = shape.ordered(view, tensor, like, hasSteps);
    if (!isOfRuns(own, rows)) {
      BufferView whole = allocate(plan, typeOf(tensor), op, plan.builder.getF32Type());
      if (failed(copy(plan, op, view, whole)))
        return failure();
      own = shape.ordered(whole, tensor, like, hasSteps);
    }
    return bufferOf(own);
  };
  SmallVector<Value> inputs, initial, outs, final;
  auto readAll = [&](ValueRange tensors, ValueRange like, bool hasSteps,
                     SmallVector<Value> &buffers) {
    for (auto [tensor, own] : llvm::zip_equal(tensors, like)) {
      FailureOr<Value> buffer = read(tensor, own, hasSteps);
      if (failed(buffer))
        return failure();
      buffers.push_back(*buffer);
    }
    return success();
  };
  SmallVector<Value> steps(op.stepArguments()), states(op.stateArguments());
  SmallVector<Value> captures(shape.captures());
  if (failed(readAll(op.getInputs(), steps, true, inputs)) ||
      failed(readAll(captures, captures, true, inputs)) ||
      failed(readAll(op.getInitial(), states, false, initial)))
    return failure();
  std::vector<std::pair<BufferView, BufferView>> moved; // results from where they are computed
  auto write = [&](Value tensor, Value like, bool hasSteps) {
    BufferView view = outputOf(plan, tensor), own = shape.ordered(view, tensor, like, hasSteps);
    if (!isOfRuns(own, rows)) {
      BufferView whole = allocate(plan, typeOf(tensor), op, plan.builder.getF32Type());
      moved.push_back({whole, view});
      own = shape.ordered(whole, tensor, like, hasSteps);
    }
    return bufferOf(own);
  };
  NextOp next = op.next();
  for (auto [output, value] : llvm::zip_equal(op.outputs(), next.outputs()))
    outs.push_back(write(output, value, true));
  for (auto [state, value] : llvm::zip_equal(op.states(), next.states()))
    final.push_back(write(state, value, false));
  Value scratch = threadRows(plan, op, shape.roomFloats());
  auto kernel = ScanKernelOp::create(plan.builder, op.getLoc(), inputs, initial, outs, final,
                                     scratch, op.getReverse());
  Block &body = kernel.getBody().emplaceBlock();
  body.addArguments(SmallVector<Type>(inputs.size() + initial.size(), plan.builder.getF32Type()),
                    SmallVector<Location>(inputs.size() + initial.size(), op.getLoc()));
  shape.cloneBody(plan.builder, captures, body);
  RankedTensorType first = typeOf(op.getInputs()[0]);
  barrier(plan, op, costOf(op, sizeOf(first, axisIndex(first, op.getAxis()))));
  for (auto &[from, to] : moved)
    if (failed(copy(plan, op, from, to)))
      return failure();
  return success();
}

} // namespace attn::planning
