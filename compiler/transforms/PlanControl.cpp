// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fused -> memory: what stands around the kernels. Where results are computed in place, views,
// calls, stacks of layers, returns.
#include "compiler/transforms/PlanMemoryImpl.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace attn;

static bool isKernel(Operation *op) {
  if (auto lookup = dyn_cast_or_null<LookupOp>(op))
    return !isBeginning(lookup);
  return isa_and_nonnull<LinearOp, NormOp, MapOp, ReduceMeanOp, RotaryOp, AttentionOp, ConcatOp>(
      op);
}

Value attn::rootOf(Value tensor) {
  while (auto relabel = tensor.getDefiningOp<RelabelOp>())
    tensor = relabel.getInput();
  return tensor;
}

//===-- results in place --------------------------------------------------------------------===//

/// Whether the part's axes are those of the whole, in its order.
static bool liesLikeResult(ConcatOp concat, size_t position) {
  ArrayRef<StringAttr> whole = axesOf(concat.getResult().getType()),
                       part = axesOf(concat.getInputs()[position].getType());
  if (whole.size() != part.size())
    return false;
  for (size_t d = 0; d < whole.size(); ++d)
    if (static_cast<int64_t>(d) == static_cast<int64_t>(concat.getAxis())
            ? concat.getAlong()[position] != static_cast<int64_t>(d)
            : part[d] != whole[d])
      return false;
  return true;
}

void FunctionPlan::chooseParts(Block &block) {
  for (auto concat : block.getOps<ConcatOp>())
    for (auto [position, input] : llvm::enumerate(concat.getInputs())) {
      Value root = rootOf(input);
      if (isKernel(root.getDefiningOp()) && root.getParentBlock() == &block &&
          !destinations.count(root) && liesLikeResult(concat, position))
        partOf.try_emplace(root, concat, position);
    }
}

void FunctionPlan::chooseDestination(Value tensor, const BufferView &place) {
  Value root = rootOf(tensor);
  Operation *op = root.getDefiningOp();
  RankedTensorType type = typeOf(root);
  bool isCall = isa_and_nonnull<func::CallOp>(op) && // which writes the one layout there is
                place.liesLike(BufferView::dense(type, place.base, pitchOf(type)));
  if ((isKernel(op) || isCall) && root.getParentBlock() == tensor.getParentBlock())
    destinations.try_emplace(root, place);
  if (Value operand = inPlace.lookup(root); operand && destinations.count(root))
    chooseDestination(operand, place);
  // What is rounded there can be computed there.
  auto map = dyn_cast_if_present<MapOp>(op);
  Type half = plan.keptHalf();
  if (!half || !map || !converts(map, half) || type.getElementType() != half)
    return;
  Value exact = map.getInputs()[0];
  if (exact.hasOneUse() && isa_and_nonnull<LinearOp, AttentionOp, NormOp>(exact.getDefiningOp()))
    destinations.try_emplace(exact, place);
}

LogicalResult FunctionPlan::deliver(Operation *op, Value tensor, const BufferView &place) {
  auto known = destinations.find(rootOf(tensor));
  if (known != destinations.end() && known->second.base == place.base)
    return success();
  return copy(op, viewOf(tensor), place);
}

BufferView FunctionPlan::laidOut(Type type, Value pointer) {
  auto tensor = cast<RankedTensorType>(type);
  return BufferView::dense(tensor, pointer, isEntry() ? 0 : pitchOf(tensor));
}

//===-- views -------------------------------------------------------------------------------===//

/// The last elements of a dynamic axis.
static BufferView endOf(const BufferView &view, SliceOp slice) {
  int64_t axis = slice.getAxis();
  SizePolynomial all = sizeOf(typeOf(slice.getInput()), axis),
                 size = slice.getDrop() ? 1 : sizeOf(typeOf(slice.getResult()), axis);
  BufferView end = view.window(axis, all - size, size);
  if (slice.getDrop())
    end.axes.erase(end.axes.begin() + axis);
  return end;
}

/// Whether cutting or splitting this axis needs it to be one run of memory, which it is not.
static bool isScattered(ArrayRef<Atom> axis) { return collapse(axis).size() > 1; }

LogicalResult FunctionPlan::emitView(Operation *op) {
  Value input = op->getOperand(0), result = op->getResult(0);
  BufferView view = viewOf(input);
  bool scattered = false;
  if (auto slice = dyn_cast<SliceOp>(op)) {
    scattered = isScattered(view.axes[slice.getAxis()]);
  } else if (auto rearrange = dyn_cast<RearrangeOp>(op)) {
    for (auto [d, count] : llvm::enumerate(rearrange.getSplit()))
      scattered |= count > 1 && isScattered(view.axes[d]);
  }
  if (scattered) {
    BufferView whole = allocate(typeOf(input), lastUse(result, op->getBlock()), view.element());
    if (failed(copy(op, view, whole)))
      return failure();
    view = whole;
  }
  views[result] = llvm::TypeSwitch<Operation *, BufferView>(op)
                      .Case([&](RelabelOp) { return view; })
                      .Case([&](SliceOp slice) {
                        int64_t axis = slice.getAxis();
                        if (slice.getEnd())
                          return endOf(view, slice);
                        int64_t size = slice.getDrop() ? 1 : typeOf(result).getDimSize(axis);
                        return view.slice(axis, slice.getOffset(), size, slice.getDrop());
                      })
                      .Case([&](RearrangeOp rearrange) { return view.rearrange(rearrange); });
  return success();
}

//===-- calls and stacks --------------------------------------------------------------------===//

FailureOr<Value> FunctionPlan::argument(Operation *op, Value tensor) {
  BufferView view = viewOf(tensor);
  usesReleased |= isReleased(view.base);
  RankedTensorType type = typeOf(tensor);
  if (view.liesLike(BufferView::dense(type, view.base, pitchOf(type))))
    return view.base;
  BufferView whole = allocate(type, op);
  if (failed(copy(op, view, whole)))
    return failure();
  return whole.base;
}

LogicalResult FunctionPlan::emitCall(func::CallOp op) {
  SmallVector<Value> operands{packed};
  Value frame = arith::ConstantIndexOp::create(builder, loc, 0);
  framePlaceholders.push_back(frame);
  operands.push_back(workspaceAt(frame, builder.getI8Type()));
  operands.append({call, thread, threads});
  for (StringRef name : plan.dims)
    operands.push_back(dims.lookup(name));
  for (Value value : op.getOperands()) {
    if (!isa<RankedTensorType>(value.getType())) {
      operands.push_back(scalars.lookup(value));
      continue;
    }
    FailureOr<Value> pointer = argument(op, value);
    if (failed(pointer))
      return failure();
    operands.push_back(*pointer);
  }
  for (Value result : op.getResults())
    operands.push_back(outputOf(result).base);
  func::CallOp::create(builder, op.getLoc(), op.getCallee(), TypeRange(), operands);
  calleeFrame = SizePolynomial::upperBound(calleeFrame, plan.frames.lookup(op.getCallee()));
  return success();
}

/// Layers go back and forth between two buffers: (in, out, spare) -> (out, spare, out). The first
/// reads the initial value where it lies. Those that may be in place have one buffer, that of the
/// initial value if this is not needed any more.
LogicalResult FunctionPlan::emitStack(scf::ForOp op) {
  SmallVector<Value> initial;
  for (auto [i, init] : llvm::enumerate(op.getInitArgs())) {
    if (!isa<RankedTensorType>(init.getType()))
      return op.emitError("expected a loop that carries tensors only");
    FailureOr<Value> pointer = argument(op, init);
    if (failed(pointer))
      return failure();
    Value result = op.getResult(i);
    RankedTensorType type = typeOf(result);
    auto buffer = [&] { return allocate(type, lastUse(result, op->getBlock())).base; };
    bool isLayerInPlace = isInPlace(op, i);
    auto place = inPlaceOf(result);
    Value out = isLayerInPlace && place && place->base == *pointer ? *pointer : buffer();
    initial.append({*pointer, out, isLayerInPlace ? out : buffer()});
  }
  auto bound = [&](Value value) { return scalars.lookup(value); };
  auto loop = scf::ForOp::create(builder, op.getLoc(), bound(op.getLowerBound()),
                                 bound(op.getUpperBound()), bound(op.getStep()), initial);
  Block *body = loop.getBody();
  scalars.map(op.getInductionVar(), loop.getInductionVar());
  SmallVector<Value> next;
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(body);
    auto yield = cast<scf::YieldOp>(op.getBody()->getTerminator());
    for (auto [i, argument] : llvm::enumerate(op.getRegionIterArgs())) {
      Value in = loop.getRegionIterArg(3 * i), out = loop.getRegionIterArg(3 * i + 1),
            spare = loop.getRegionIterArg(3 * i + 2);
      RankedTensorType type = typeOf(argument);
      views[argument] = BufferView::dense(type, in, pitchOf(type));
      chooseDestination(yield.getOperand(i), BufferView::dense(type, out, pitchOf(type)));
      next.append({out, spare, out});
    }
    if (failed(emitBlock(*op.getBody())))
      return failure();
    for (auto [i, operand] : llvm::enumerate(yield.getOperands())) {
      RankedTensorType type = typeOf(operand);
      if (failed(deliver(op, operand, BufferView::dense(type, next[3 * i], pitchOf(type)))))
        return failure();
    }
    scf::YieldOp::create(builder, op.getLoc(), next);
  }
  for (auto [i, result] : llvm::enumerate(op.getResults())) {
    RankedTensorType type = typeOf(result);
    views[result] = BufferView::dense(type, loop.getResult(3 * i), pitchOf(type));
  }
  return success();
}

//===-- the function ------------------------------------------------------------------------===//

LogicalResult FunctionPlan::emit(Operation &op) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(&op)
      .Case([&](GetOp) { return success(); })
      .Case([&](LinearOp linear) { return emitLinear(linear); })
      .Case([&](NormOp norm) {
        return emitNorm(norm, norm.getInput(), RowNorm::of(norm), outputOf(norm.getResult()));
      })
      .Case([&](MapOp map) { return emitMap(map); })
      .Case([&](ReduceMeanOp mean) { return emitMean(mean); })
      .Case([&](LookupOp lookup) { return emitLookup(lookup); })
      .Case([&](RotaryOp rotary) { return emitRotary(rotary); })
      .Case([&](TableOp table) { return emitTable(table); })
      .Case([&](PushOp push) { return emitPush(push); })
      .Case([&](SizeOp size) {
        scalars.map(size.getResult(), dim(size.getDim()));
        return success();
      })
      .Case([&](AttentionOp attention) { return emitAttention(attention); })
      .Case([&](ConcatOp concat) { return emitConcat(concat); })
      .Case<RelabelOp, SliceOp, RearrangeOp>([&](Operation *view) { return emitView(view); })
      .Case([&](func::CallOp call) { return emitCall(call); })
      .Case([&](scf::ForOp loop) { return emitStack(loop); })
      .Default([&](Operation *other) -> LogicalResult {
        if (isa<arith::ConstantOp>(other) && isa<TensorType>(other->getResult(0).getType()))
          return success(); // of scores, which get their own
        if (!isMemoryEffectFree(other) || other->getNumRegions() != 0 ||
            llvm::any_of(other->getResultTypes(), [](Type t) { return isa<TensorType>(t); }))
          return other->emitError("memory stage: an op that has no place in a buffer");
        builder.clone(*other, scalars);
        return success();
      });
}

LogicalResult FunctionPlan::emitBlock(Block &block) {
  chooseParts(block);
  for (Operation &op : block.without_terminator()) {
    if (failed(emit(op)))
      return failure();
    if (usesReleased)
      return op.emitError("memory stage: a buffer is used after it was released");
    releaseAfter(&op);
  }
  return success();
}

LogicalResult FunctionPlan::run() {
  createFunction();
  Block &block = source.getBody().front();
  auto result = cast<func::ReturnOp>(block.getTerminator());
  chooseInPlace(block);
  for (auto [i, operand] : llvm::enumerate(result.getOperands()))
    chooseDestination(operand, laidOut(operand.getType(), resultPointers[i]));
  if (failed(emitBlock(block)))
    return failure();
  for (auto [i, operand] : llvm::enumerate(result.getOperands()))
    if (failed(deliver(result, operand, laidOut(operand.getType(), resultPointers[i]))))
      return failure();
  recordInPlace(result);
  func::ReturnOp::create(builder, result.getLoc());
  resolveOffsets();
  return success();
}
