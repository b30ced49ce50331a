// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fused -> memory: every tensor gets its place. A function on tensors becomes one on pointers:
//
//   func @Block(%n: index, %x: tensor<?x197x768xf32, ...>) -> tensor<...>
//   ->
//   func @Block(%packed, %workspace, %call: memref<i8>, %thread, %threads, %B, %n: index, %x, %out:
//   memref<f32>)
//
// Every thread of the team runs the whole function; kernels divide their work by (%thread,
// %threads), with a barrier after each. Buffers are slots of one frame in the workspace, reused
// when their last reader has run; a concat's parts and a function's results are computed in place,
// and so is a residual stream; else a stack's layers go back and forth between two buffers.
#include "compiler/transforms/AttentionShape.h"
#include "compiler/transforms/Passes.h"
#include "compiler/transforms/PlanMemoryImpl.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

namespace attn {
#define GEN_PASS_DEF_PLANMEMORYPASS
#include "compiler/transforms/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

int64_t attn::pitchOf(RankedTensorType type) {
  int64_t last = type.getShape().back();
  return last >= 1024 && last % 1024 == 0 && type.getRank() > 1 ? last + 16 : 0;
}

Type ModulePlan::roundedTo() const {
  MLIRContext *context = module->getContext();
  if (precision == Precision::F16) // which no CPU level multiplies
    return isGpu() ? Type(Float16Type::get(context)) : Type();
  return targets.anyMultipliesPairs() && precision != Precision::F32
             ? Type(BFloat16Type::get(context))
             : Type();
}

static bool isView(Operation *op) { return isa<RelabelOp, SliceOp, RearrangeOp>(op); }

//===-- the new function --------------------------------------------------------------------===//

void FunctionPlan::createFunction() {
  Type byte = MemRefType::get({}, builder.getI8Type());
  auto pointer = [&](Type tensor) {
    return MemRefType::get({}, plan.stored(cast<RankedTensorType>(tensor).getElementType()));
  };
  Type index = builder.getIndexType();
  SmallVector<Type> types{byte, byte, byte, index, index};
  types.append(plan.dims.size(), index);
  for (Type type : source.getArgumentTypes())
    types.push_back(isa<RankedTensorType>(type) ? pointer(type) : type);
  for (Type type : source.getResultTypes())
    types.push_back(pointer(type));
  builder.setInsertionPoint(source);
  target =
      func::FuncOp::create(builder, loc, source.getSymName(), builder.getFunctionType(types, {}));
  if (source->hasAttr("attn.entry"))
    target->setAttr("attn.entry", builder.getUnitAttr());
  target.setPrivate();
  Block *entry = target.addEntryBlock();
  builder.setInsertionPointToStart(entry);
  size_t next = 0;
  auto take = [&] { return entry->getArgument(next++); };
  packed = take(), workspace = take(), call = take(), thread = take(), threads = take();
  for (StringRef name : plan.dims)
    dims[name] = take();
  for (BlockArgument argument : source.getArguments()) {
    Value value = take();
    if (auto type = dyn_cast<RankedTensorType>(argument.getType()))
      views[argument] = laidOut(type, value);
    else
      scalars.map(argument, value);
  }
  for (size_t i = 0; i < source.getNumResults(); ++i)
    resultPointers.push_back(take());
}

Value FunctionPlan::dim(StringRef name) { return name == "#threads" ? threads : dims.lookup(name); }

/// Bytes rounded up to whole cache lines.
static Value roundUp(OpBuilder &builder, Location loc, Value bytes) {
  Value slack = arith::ConstantIndexOp::create(builder, loc, 63),
        mask = arith::ConstantIndexOp::create(builder, loc, -64);
  return builder.createOrFold<arith::AndIOp>(
      loc, builder.createOrFold<arith::AddIOp>(loc, bytes, slack), mask);
}

void FunctionPlan::resolveOffsets() {
  builder.setInsertionPointToStart(&target.getBody().front());
  Value offset = arith::ConstantIndexOp::create(builder, loc, 0);
  SizePolynomial frame;
  SmallVector<Value> placeholders(framePlaceholders);
  for (Slot &slot : slots) {
    slot.offset.replaceAllUsesWith(offset);
    placeholders.push_back(slot.offset);
    Value bytes = slot.bytes.emit(builder, loc, [&](StringRef name) { return dim(name); });
    offset = builder.createOrFold<arith::AddIOp>(loc, offset, roundUp(builder, loc, bytes));
    frame = frame + slot.bytes + SizePolynomial(63);
  }
  for (Value placeholder : framePlaceholders)
    placeholder.replaceAllUsesWith(offset);
  for (Value placeholder : placeholders)
    placeholder.getDefiningOp()->erase();
  plan.frames[source.getSymName()] = frame + calleeFrame;
}

//===-- buffers -----------------------------------------------------------------------------===//

size_t FunctionPlan::allocateSlot(SizePolynomial bytes) {
  auto fits = [&](const Slot &slot) { return slot.free && slot.bytes == bytes; };
  auto found = llvm::find_if(slots, fits);
  if (found == slots.end())
    found = llvm::find_if(slots, [](const Slot &slot) { return slot.free; });
  if (found == slots.end()) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&target.getBody().front());
    slots.push_back({bytes, false, arith::ConstantIndexOp::create(builder, loc, 0)});
    return slots.size() - 1;
  }
  found->free = false;
  found->bytes = SizePolynomial::upperBound(found->bytes, bytes);
  return found - slots.begin();
}

Value FunctionPlan::workspaceAt(Value offset, Type element) {
  Value huge = arith::ConstantIndexOp::create(builder, loc, int64_t(1) << 62);
  auto bytes = memref::ReinterpretCastOp::create(
      builder, loc, MemRefType::get({ShapedType::kDynamic}, builder.getI8Type()), workspace,
      OpFoldResult(builder.getIndexAttr(0)), ArrayRef<OpFoldResult>{huge},
      ArrayRef<OpFoldResult>{builder.getIndexAttr(1)});
  return memref::ViewOp::create(builder, loc, MemRefType::get({}, element), bytes, offset,
                                ValueRange());
}

Value FunctionPlan::slotPointer(size_t slot, Type element) {
  Value pointer = workspaceAt(slots[slot].offset, element);
  slots[slot].pointer = pointer;
  slotOf[pointer] = slot;
  return pointer;
}

bool FunctionPlan::isReleased(Value pointer) {
  auto slot = slotOf.find(pointer);
  return slot != slotOf.end() && slots[slot->second].pointer != pointer;
}

/// A new buffer for a tensor, free again after `last`.
BufferView FunctionPlan::allocate(RankedTensorType type, Operation *last, Type element) {
  int64_t pitch = pitchOf(type);
  SizePolynomial elements = elementsOf(type);
  if (pitch) {
    elements = SizePolynomial(pitch);
    for (int64_t d = 0; d + 1 < type.getRank(); ++d)
      elements = elements * sizeOf(type, d);
  }
  if (!element)
    element = plan.stored(type.getElementType());
  size_t slot = allocateSlot(elements * SizePolynomial(element.getIntOrFloatBitWidth() / 8));
  releases.push_back({last, slot});
  return BufferView::dense(type, slotPointer(slot, element), pitch);
}

Value FunctionPlan::threadRows(Operation *op, int64_t columns, int64_t shared, Type element) {
  if (!element)
    element = builder.getF32Type();
  int64_t bytes = element.getIntOrFloatBitWidth() / 8;
  // What prefetchers take to follow the end of a thread's row is nobody's: some 20 lines.
  constexpr int64_t gap = 11 * panelWidth * 4;
  if (!plan.isGpu())
    columns += gap / bytes;
  auto rows = SizePolynomial::dim("#threads") + SizePolynomial(shared);
  size_t slot = allocateSlot(SizePolynomial(columns * bytes) * rows);
  releases.push_back({op, slot});
  return memrefOf(BufferView{slotPointer(slot, element), 0, {}},
                  {Atom{rows, columns}, Atom{columns, 1}});
}

BufferView FunctionPlan::partOfConcat(ConcatOp concat, size_t position, const BufferView &whole) {
  auto size = [&](size_t i) {
    return sizeOf(cast<RankedTensorType>(concat.getInputs()[i].getType()), concat.getAlong()[i]);
  };
  SizePolynomial start;
  for (size_t i = 0; i < position; ++i)
    start = start + size(i);
  SizePolynomial own = size(position);
  if (start.isConstant() && own.isConstant())
    return whole.slice(concat.getAxis(), start.constant(), own.constant(), false);
  return whole.window(concat.getAxis(), start, own);
}

bool attn::isReadOnlyBy(Value tensor, function_ref<bool(OpOperand &)> isReader) {
  return llvm::all_of(tensor.getUses(), [&](OpOperand &use) {
    return isView(use.getOwner()) ? isReadOnlyBy(use.getOwner()->getResult(0), isReader)
                                  : isReader(use);
  });
}

bool ModulePlan::isOnlyMultiplied(Value tensor) {
  return isReadOnlyBy(tensor, [&](OpOperand &use) {
    Operation *user = use.getOwner();
    if (auto linear = dyn_cast<LinearOp>(user))
      return use.getOperandNumber() == 0 && !linear.getNorm() &&
             typeOf(linear.getInput()).getShape().back() % 2 == 0;
    if (auto push = dyn_cast<PushOp>(user))
      return !readStates.contains(push.getState());
    return isa<AttentionOp>(user) && use.getOperandNumber() < 3;
  });
}

bool attn::isOnlyAttendedTo(Value tensor) {
  return isReadOnlyBy(tensor, [](OpOperand &use) {
    return isa<AttentionOp>(use.getOwner()) &&
           (use.getOperandNumber() == 1 || use.getOperandNumber() == 2);
  });
}

/// What a tensor's elements are stored as in a buffer of its own.
Type FunctionPlan::elementFor(Value tensor) {
  if (!typeOf(tensor).getElementType().isF32() || cast<OpResult>(tensor).getResultNumber() != 0)
    return {};
  Operation *source = tensor.getDefiningOp();
  if (isa<LinearOp, NormOp, RotaryOp>(source) && isOnlyRounded(tensor))
    return builder.getI16Type();
  bool isNarrow = plan.keptHalf() && isa<LinearOp, NormOp, MapOp, RotaryOp, AttentionOp>(source) &&
                  plan.isOnlyMultiplied(tensor);
  return isNarrow ? plan.keptHalf() : Type();
}

/// Where a tensor that a kernel is about to compute shall lie.
BufferView FunctionPlan::outputOf(Value tensor) {
  if (auto known = destinations.find(tensor); known != destinations.end())
    return views[tensor] = known->second;
  if (auto part = partOf.find(tensor); part != partOf.end()) {
    auto [concat, position] = part->second;
    if (!views.count(concat.getResult()))
      outputOf(concat.getResult()); // with its first part
    return views[tensor] = partOfConcat(concat, position, views[concat.getResult()]);
  }
  Operation *last = lastUse(tensor, tensor.getParentBlock());
  if (LinearOp linear = roundedFor(tensor))
    return views[tensor] = roundedRows(typeOf(tensor), linear.getContract(), last);
  Type element = elementFor(tensor);
  if (auto place = inPlaceOf(tensor); place && !element)
    return views[tensor] = *place;
  return views[tensor] = allocate(typeOf(tensor), last, element);
}

bool FunctionPlan::isInInput(Operation *op) {
  if (auto map = dyn_cast<MapOp>(op))
    return isOfCache(map);
  auto lookup = dyn_cast<LookupOp>(op);
  return isView(op) || (lookup && isBeginning(lookup));
}

/// The last op of `block` that reads what `value` lies in: through views, concats, loops, and what
/// takes its place.
void FunctionPlan::latestUse(Value value, Block *block, Operation *&latest) {
  for (Operation *user : value.getUsers()) {
    Operation *ancestor = block->findAncestorOpInBlock(*user);
    if (ancestor && (!latest || latest->isBeforeInBlock(ancestor)))
      latest = ancestor;
    bool isPassedOn = isInInput(user) || isa<ConcatOp, scf::ForOp>(user);
    for (Value result : user->getResults())
      if (isPassedOn || inPlace.lookup(result) == value)
        latestUse(result, block, latest);
  }
}

Operation *FunctionPlan::lastUse(Value root, Block *block) {
  Operation *latest = root.getDefiningOp();
  latestUse(root, block, latest);
  // A concat's buffer holds its parts, too.
  if (auto concat = root.getDefiningOp<ConcatOp>())
    for (auto &[part, place] : partOf)
      if (place.first == concat)
        latestUse(part, block, latest);
  return latest;
}

void FunctionPlan::releaseAfter(Operation *op) {
  for (auto &[user, slot] : releases)
    if (user == op)
      slots[slot].free = true, slots[slot].pointer = Value();
  llvm::erase_if(releases, [&](auto &release) { return release.first == op; });
}

//===-- operands of kernels -----------------------------------------------------------------===//

Value FunctionPlan::pointerTo(SlotOp slot, Value layer, Type element) {
  return AddressOp::create(builder, loc, MemRefType::get({}, element),
                           FlatSymbolRefAttr::get(slot.getSymNameAttr()), packed, layer);
}

BufferView FunctionPlan::viewOf(Value tensor) {
  if (auto known = views.find(tensor); known != views.end())
    return known->second;
  auto get = tensor.getDefiningOp<GetOp>();
  ParamOp param = plan.module.lookupSymbol<ParamOp>(get.getParam());
  Value layer = get.getLayer() ? scalars.lookup(get.getLayer()) : Value();
  return BufferView::dense(cast<RankedTensorType>(param.getType()),
                           pointerTo(plan.layout.slot(param, 0), layer, builder.getF32Type()));
}

Value FunctionPlan::memrefOf(const BufferView &view, ArrayRef<Atom> atoms) {
  usesReleased |= isReleased(view.base);
  auto fold = [&](const SizePolynomial &value) -> OpFoldResult {
    if (value.isConstant())
      return builder.getIndexAttr(value.constant());
    return value.emit(builder, loc, [&](StringRef name) { return dim(name); });
  };
  auto constantOr = [](const SizePolynomial &value) {
    return value.isConstant() ? value.constant() : ShapedType::kDynamic;
  };
  SmallVector<OpFoldResult> sizes, strides;
  SmallVector<int64_t> shape, layout;
  for (const Atom &atom : atoms) {
    sizes.push_back(fold(atom.size)), strides.push_back(fold(atom.stride));
    shape.push_back(constantOr(atom.size)), layout.push_back(constantOr(atom.stride));
  }
  auto type = MemRefType::get(
      shape, cast<MemRefType>(view.base.getType()).getElementType(),
      StridedLayoutAttr::get(builder.getContext(), constantOr(view.offset), layout));
  return memref::ReinterpretCastOp::create(builder, loc, type, view.base, fold(view.offset), sizes,
                                           strides);
}

//===-- constants ---------------------------------------------------------------------------===//

memref::GlobalOp ModulePlan::constants(DenseElementsAttr elements, Location loc) {
  memref::GlobalOp &global = tables[elements];
  if (global)
    return global;
  OpBuilder builder(module.getBodyRegion());
  ShapedType flat = RankedTensorType::get({elements.getNumElements()}, elements.getElementType());
  global = memref::GlobalOp::create(
      builder, loc, "table." + std::to_string(tables.size() - 1), builder.getStringAttr("private"),
      MemRefType::get(flat.getShape(), flat.getElementType()), elements.reshape(flat),
      /*constant=*/true, builder.getI64IntegerAttr(64));
  return global;
}

/// A view of constants, in which dynamic axes are shorter than the elements go.
LogicalResult FunctionPlan::emitTable(TableOp op) {
  auto elements = dyn_cast<DenseElementsAttr>(op.getElements());
  if (!elements)
    return op.emitError("memory stage: expected dense elements");
  memref::GlobalOp global = plan.constants(elements, op.getLoc());
  Value whole =
      memref::GetGlobalOp::create(builder, op.getLoc(), global.getType(), global.getSymName());
  Type element = elements.getElementType();
  Value pointer = memref::ReinterpretCastOp::create(
      builder, op.getLoc(), MemRefType::get({}, element), whole,
      OpFoldResult(builder.getIndexAttr(0)), ArrayRef<OpFoldResult>(), ArrayRef<OpFoldResult>());
  RankedTensorType type = typeOf(op.getResult());
  BufferView view{pointer, 0, {}};
  SizePolynomial stride(1);
  view.axes.resize(type.getRank());
  for (int64_t d = type.getRank() - 1; d >= 0; --d) {
    view.axes[d] = {Atom{sizeOf(type, d), stride}};
    stride = stride * SizePolynomial(elements.getType().getDimSize(d));
  }
  views[op.getResult()] = view;
  return success();
}

//===-- the pass ----------------------------------------------------------------------------===//

/// Bytes of workspace that an entry needs.
static void createWorkspaceFunction(ModulePlan &plan, StringRef entry, Location loc,
                                    OpBuilder builder) {
  SmallVector<Type> types(1 + plan.dims.size(), builder.getIndexType());
  auto function = func::FuncOp::create(builder, loc, ("workspace." + entry).str(),
                                       builder.getFunctionType(types, builder.getIndexType()));
  function.setPrivate();
  Block *body = function.addEntryBlock();
  builder.setInsertionPointToStart(body);
  auto dim = [&](StringRef name) -> Value {
    size_t position =
        name == "#threads" ? 0 : 1 + (llvm::find(plan.dims, name) - plan.dims.begin());
    return body->getArgument(position);
  };
  func::ReturnOp::create(builder, loc, plan.frames[entry].emit(builder, loc, dim));
}

namespace {

struct PlanMemoryPass : attn::impl::PlanMemoryPassBase<PlanMemoryPass> {
  using PlanMemoryPassBase::PlanMemoryPassBase;

  /// The functions on tensors: what is made of them has the same names until they are erased.
  llvm::StringMap<func::FuncOp> sources;

  /// A function after those that it calls.
  LogicalResult plan(func::FuncOp function, ModulePlan &modulePlan, DenseSet<Operation *> &done) {
    if (!done.insert(function).second)
      return success();
    auto result = function.walk([&](func::CallOp call) {
      return WalkResult(plan(sources.lookup(call.getCallee()), modulePlan, done));
    });
    if (result.wasInterrupted() || failed(FunctionPlan(modulePlan, function).run()))
      return failure();
    if (function->hasAttr("attn.entry"))
      createWorkspaceFunction(modulePlan, function.getSymName(), function.getLoc(),
                              OpBuilder(function));
    return success();
  }

  void runOnOperation() override {
    ModulePlan modulePlan(getOperation());
    modulePlan.attention = symbolizeAttentionLowering(attention);
    auto known = symbolizePrecision(precision);
    if (!known) {
      getOperation().emitError() << "unknown precision '" << precision << "'";
      return signalPassFailure();
    }
    modulePlan.precision = storedPrecision(*known);
    auto planned = TargetSet::parse(targets);
    if (!planned) {
      getOperation().emitError() << "unknown target in '" << targets << "'";
      return signalPassFailure();
    }
    modulePlan.targets = *planned;
    DenseSet<Operation *> done;
    auto functions = llvm::to_vector(getOperation().getOps<func::FuncOp>());
    sources.clear();
    for (func::FuncOp function : functions)
      sources[function.getSymName()] = function;
    for (func::FuncOp function : functions)
      if (failed(plan(function, modulePlan, done)))
        return signalPassFailure();
    for (func::FuncOp function : functions)
      function.erase();
    modulePlan.layout.place();
  }
};

} // namespace
