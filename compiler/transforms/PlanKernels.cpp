// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fused -> memory, op by op: the kernel on buffers for every op on tensors.
#include "compiler/transforms/PlanMemoryImpl.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace attn;

void FunctionPlan::barrier(Operation *op, const KernelCost &cost) {
  OpBuilder module(target);
  std::string name = ("cost." + target.getSymName() + "." + llvm::Twine(costs++)).str();
  CostOp::create(module, op->getLoc(), name, cost.title, cost.flop.attribute(builder),
                 cost.bytes.attribute(builder));
  BarrierOp::create(builder, loc, call, thread,
                    mlir::FlatSymbolRefAttr::get(builder.getContext(), name));
}

/// What a tensor takes less than its type says, as its elements are `stored`.
static SizePolynomial savedBytes(RankedTensorType type, Type stored) {
  int64_t bits = type.getElementType().getIntOrFloatBitWidth() - stored.getIntOrFloatBitWidth();
  return elementsOf(type) * SizePolynomial(std::max<int64_t>(bits / 8, 0));
}

KernelCost FunctionPlan::costOf(Operation *op, ArrayRef<std::pair<Value, Type>> read) {
  KernelCost cost = KernelCost::of(op);
  auto save = [&](ValueRange tensors) {
    for (Value tensor : tensors) {
      auto copied = llvm::find_if(read, [&](auto &copy) { return copy.first == tensor; });
      auto known = views.find(tensor);
      Type stored = copied != read.end()   ? copied->second
                    : known != views.end() ? known->second.element()
                                           : Type();
      if (stored)
        cost.bytes = cost.bytes - savedBytes(typeOf(tensor), stored);
    }
  };
  save(op->getOperands());
  save(op->getResults());
  return cost;
}

FailureOr<Value> FunctionPlan::rowsAndColumns(Operation *op, const BufferView &view,
                                              int64_t rowAxes) {
  SmallVector<Atom> atoms = atLeastOne(view.collapsed(0, rowAxes));
  SmallVector<Atom> columns = view.collapsed(rowAxes, view.axes.size());
  columns = atLeastOne(columns);
  if (columns.size() != 1)
    return op->emitError("expected columns that lie one after the other");
  atoms.push_back(columns.front());
  return memrefOf(view, atoms);
}

/// The same for an input of `op` of shape `type`, copied first where its columns do not lie one
/// after the other.
FailureOr<Value> FunctionPlan::readRows(Operation *op, const BufferView &view,
                                        RankedTensorType type, int64_t rowAxes) {
  if (view.collapsed(rowAxes, view.axes.size()).size() <= 1)
    return rowsAndColumns(op, view, rowAxes);
  BufferView whole = allocate(type, op, view.element());
  if (failed(copy(op, view, whole)))
    return failure();
  return rowsAndColumns(op, whole, rowAxes);
}

BufferView FunctionPlan::broadcast(const BufferView &view, Type from, Type to) {
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

FailureOr<FunctionPlan::NormRows> FunctionPlan::normRows(Operation *op, Value input,
                                                         const RowNorm &norm) {
  auto rows = readRows(op, viewOf(input), typeOf(input), typeOf(input).getRank() - norm.axes);
  if (failed(rows))
    return failure();
  auto flat = [&](Value tensor) {
    if (!tensor)
      return Value();
    BufferView view = viewOf(tensor);
    return memrefOf(view, atLeastOne(view.collapsed(0, norm.axes)));
  };
  Value weight = flat(norm.weight);
  return NormRows{*rows, weight, flat(norm.bias)};
}

LogicalResult FunctionPlan::emitNorm(Operation *op, Value input, const RowNorm &norm,
                                     const BufferView &out) {
  auto rows = normRows(op, input, norm);
  auto result = rowsAndColumns(op, out, typeOf(input).getRank() - norm.axes);
  if (failed(rows) || failed(result))
    return failure();
  NormKernelOp::create(builder, op->getLoc(), rows->input, rows->weight, rows->bias, *result,
                       norm.norm);
  KernelCost cost = KernelCost::ofNorm(typeOf(input), norm);
  cost.bytes = cost.bytes - savedBytes(typeOf(input), out.element());
  barrier(op, cost);
  return success();
}

/// A stored element as the one that it means, and back.
static Value fromStored(OpBuilder &builder, Location loc, Value value, Type type) {
  if (value.getType() == type)
    return value;
  if (!type.isInteger(1))
    return arith::BitcastOp::create(builder, loc, type, value);
  Value none = arith::ConstantOp::create(builder, loc, builder.getIntegerAttr(value.getType(), 0));
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, value, none);
}

static Value toStored(OpBuilder &builder, Location loc, Value value, Type stored) {
  if (value.getType() == stored)
    return value;
  if (stored.isInteger(16) && value.getType().isF32()) // the bits of bf16
    value = arith::TruncFOp::create(builder, loc, builder.getBF16Type(), value);
  if (stored.isBF16() || stored.isF16()) // kept narrow on GPUs
    return arith::TruncFOp::create(builder, loc, stored, value);
  if (!value.getType().isInteger(1))
    return arith::BitcastOp::create(builder, loc, stored, value);
  return arith::ExtUIOp::create(builder, loc, stored, value);
}

bool attn::converts(MapOp op, Type half) {
  Block &body = op.getBody().front();
  if (op.getInputs().size() != 1 || !llvm::hasSingleElement(body.without_terminator()) ||
      !isa<arith::ExtFOp, arith::TruncFOp>(body.front()) ||
      axesOf(op.getInputs()[0].getType()) != axesOf(op.getResult().getType()))
    return false;
  Type from = typeOf(op.getInputs()[0]).getElementType(),
       to = typeOf(op.getResult()).getElementType();
  return (from == half && to.isF32()) || (from.isF32() && to == half);
}

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

/// Whether a map is nothing, since what reads its result converts it: of what is pushed to a cache,
/// and of keys and values there.
bool FunctionPlan::isOfCache(MapOp op) {
  for (Type half : {Type(builder.getBF16Type()), Type(builder.getF16Type())}) {
    if (!converts(op, half))
      continue;
    bool isPushed = op.getResult().hasOneUse() && isa<PushOp>(*op.getResult().user_begin());
    bool isKept = isa_and_present<PushOp>(rootOf(op.getInputs()[0]).getDefiningOp()) &&
                  isOnlyAttendedTo(op.getResult());
    if (isPushed || isKept)
      return true;
  }
  return false;
}

/// That; and on a GPU, of an argument of 16 bits that is multiplied as it is, and of what has been
/// computed to the place of its rounded result.
bool FunctionPlan::isInPlace(MapOp op) {
  if (isOfCache(op))
    return true;
  Type half = plan.keptHalf();
  if (!half || !converts(op, half))
    return false;
  Value input = op.getInputs()[0], result = op.getResult();
  auto known = destinations.find(result);
  if (typeOf(result).getElementType() == half)
    return known != destinations.end() && viewOf(input).base == known->second.base;
  return isa<BlockArgument>(input) && known == destinations.end() && !partOf.count(result) &&
         plan.isOnlyMultiplied(result);
}

LogicalResult FunctionPlan::emitMap(MapOp op) {
  if (isInPlace(op)) {
    views[op.getResult()] = viewOf(op.getInputs()[0]);
    return success();
  }
  RankedTensorType result = typeOf(op.getResult());
  SmallVector<Value> inputs;
  int64_t rows = std::max<int64_t>(result.getRank() - 1, 0);
  BufferView place = outputOf(op.getResult());
  // A conversion of what lies in one piece is one row: vectors that end within a row cost more than
  // others where elements are narrow.
  auto isPiece = [](const BufferView &view) {
    return view.collapsed(0, view.axes.size()).size() == 1;
  };
  bool isConversion = op.getInputs().size() == 1 &&
                      typeOf(op.getInputs()[0]).getElementType() != result.getElementType();
  if (isConversion && isPiece(viewOf(op.getInputs()[0])) && isPiece(place))
    rows = 0;
  for (Value input : op.getInputs()) {
    auto own = RankedTensorType::get(result.getShape(), typeOf(input).getElementType(),
                                     result.getEncoding());
    auto buffer = readRows(op, broadcast(viewOf(input), input.getType(), own), own, rows);
    if (failed(buffer))
      return failure();
    inputs.push_back(*buffer);
  }
  auto out = rowsAndColumns(op, place, rows);
  if (failed(out))
    return failure();
  auto kernel = MapKernelOp::create(builder, op.getLoc(), inputs, *out);
  cloneBody(builder, op, kernel, scalars);
  barrier(op);
  return success();
}

/// Copies element by element; `to` is one run of memory along its last axis.
LogicalResult FunctionPlan::copy(Operation *op, BufferView from, BufferView to) {
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
  auto in = rowsAndColumns(op, from, rows), out = rowsAndColumns(op, to, rows);
  if (failed(in) || failed(out))
    return failure();
  auto kernel = MapKernelOp::create(builder, op->getLoc(), ValueRange(*in), *out);
  OpBuilder::InsertionGuard guard(builder);
  Type element = from.element();
  Block *block = builder.createBlock(&kernel.getBody(), {}, {element}, {op->getLoc()});
  Value value = block->getArgument(0);
  if (element != to.element()) { // by way of f32: there is none from bf16 to f16
    if (element.isInteger(16))   // the bits of bf16
      value = arith::BitcastOp::create(builder, op->getLoc(), builder.getBF16Type(), value);
    if (!element.isF32())
      value = arith::ExtFOp::create(builder, op->getLoc(), builder.getF32Type(), value);
  }
  YieldOp::create(builder, op->getLoc(), toStored(builder, op->getLoc(), value, to.element()));
  builder.setInsertionPointAfter(kernel);
  barrier(op, KernelCost::ofCopy(elements, element));
  return success();
}

LogicalResult FunctionPlan::emitMean(ReduceMeanOp op) {
  // [rows..., s, columns]: of the axes behind s, those that do not lie one after the other are
  // rows, too, but the last.
  BufferView in = viewOf(op.getInput());
  int64_t axis = op.getAxis(), rank = typeOf(op.getInput()).getRank();
  SmallVector<Atom> atoms = atLeastOne(in.collapsed(0, axis)),
                    columns = atLeastOne(in.collapsed(axis + 1, rank));
  SmallVector<Atom> middle = atLeastOne(in.collapsed(axis, axis + 1));
  int64_t rows = axis;
  if (columns.size() != 1) {
    rows = rank - 2;
    atoms.append(in.collapsed(axis + 1, rank - 1));
    columns = atLeastOne(in.collapsed(rank - 1, rank));
  }
  if (columns.size() != 1 || middle.size() != 1)
    return op.emitError("expected a mean over an axis with the columns behind it");
  atoms.append(middle);
  atoms.append(columns);
  auto out = rowsAndColumns(op, outputOf(op.getResult()), rows);
  if (failed(out))
    return failure();
  MeanKernelOp::create(builder, op.getLoc(), memrefOf(in, atoms), *out);
  barrier(op);
  return success();
}

bool attn::isBeginning(LookupOp op) {
  auto table = rootOf(op.getIndices()).getDefiningOp<TableOp>();
  auto elements = table ? dyn_cast<DenseElementsAttr>(table.getElements()) : DenseElementsAttr();
  if (!elements || elements.getType().getRank() != 1)
    return false;
  int64_t next = 0;
  return llvm::all_of(elements.getValues<APInt>(),
                      [&](const APInt &index) { return index.getSExtValue() == next++; });
}

LogicalResult FunctionPlan::emitLookup(LookupOp op) {
  RankedTensorType table = typeOf(op.getTable()), indices = typeOf(op.getIndices());
  BufferView rows = viewOf(op.getTable());
  if (isBeginning(op)) {
    rows.axes[0] = {Atom{sizeOf(indices, 0), rows.axes[0].front().stride}};
    views[op.getResult()] = rows;
    return success();
  }
  auto tableBuffer = readRows(op, rows, table, 1);
  BufferView places = viewOf(op.getIndices());
  Value indexBuffer = memrefOf(places, atLeastOne(places.collapsed(0, indices.getRank())));
  auto out = rowsAndColumns(op, outputOf(op.getResult()), indices.getRank());
  if (failed(tableBuffer) || failed(out))
    return failure();
  LookupKernelOp::create(builder, op.getLoc(), *tableBuffer, indexBuffer, *out);
  barrier(op);
  return success();
}

LogicalResult FunctionPlan::emitRotary(RotaryOp op) {
  RankedTensorType type = typeOf(op.getInput()), angles = typeOf(op.getCos());
  int64_t rows = type.getRank() - 1;
  auto input = readRows(op, viewOf(op.getInput()), type, rows);
  // Angles along all rows: [rows..., pairs].
  SmallVector<int64_t> shape(type.getShape().drop_back());
  SmallVector<StringAttr> names(axesOf(type).drop_back());
  shape.push_back(angles.getShape().back());
  names.push_back(axesOf(angles).back());
  Type whole = axesTensor(type.getElementType(), shape, names);
  auto cos = rowsAndColumns(op, broadcast(viewOf(op.getCos()), angles, whole), rows),
       sin = rowsAndColumns(op, broadcast(viewOf(op.getSin()), angles, whole), rows),
       out = rowsAndColumns(op, outputOf(op.getResult()), rows);
  if (failed(input) || failed(cos) || failed(sin) || failed(out))
    return failure();
  RotaryKernelOp::create(builder, op.getLoc(), *input, *cos, *sin, *out, op.getInterleaved());
  barrier(op);
  return success();
}

LogicalResult FunctionPlan::emitConcat(ConcatOp op) {
  BufferView whole = views.count(op.getResult()) ? views[op.getResult()] : outputOf(op.getResult());
  auto result = typeOf(op.getResult());
  for (auto [i, input] : llvm::enumerate(op.getInputs())) {
    int64_t along = op.getAlong()[i];
    auto placed = partOf.find(rootOf(input));
    if (placed == partOf.end() || placed->second.first != op) { // not computed in place
      // The axis has one name, which says its size, in the part and in its place.
      SmallVector<StringAttr> names(axesOf(input.getType())), places(axesOf(result));
      StringRef size = names[along].getValue().rsplit(':').second;
      names[along] = places[op.getAxis()] =
          builder.getStringAttr("concat:" + (size.empty() ? names[along].getValue() : size));
      SmallVector<int64_t> shape(result.getShape());
      shape[op.getAxis()] = typeOf(input).getDimSize(along);
      Type from = axesTensor(result.getElementType(), typeOf(input).getShape(), names);
      Type to = axesTensor(result.getElementType(), shape, places);
      if (failed(copy(op, broadcast(viewOf(input), from, to), partOfConcat(op, i, whole))))
        return failure();
    }
  }
  return success();
}
