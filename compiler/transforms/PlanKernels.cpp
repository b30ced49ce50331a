// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fused -> memory, op by op: the kernel on buffers for every op on tensors.
#include "compiler/transforms/PlanMemoryImpl.h"
#include "compiler/transforms/TargetModel.h"
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

/// At least one atom: an axis of one element where there is none.
static SmallVector<Atom> atLeastOne(SmallVector<Atom> atoms) {
  if (atoms.empty())
    atoms.push_back(Atom{1, 1});
  return atoms;
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

/// Halves in 16 bytes, at whose multiples GPUs' copies of boxes ask rows to begin.
constexpr int64_t halfRowGranule = 8;

/// Whether a view is such rows of `half`, with one stride from each to the next.
static bool hasHalfRows(const BufferView &view, int64_t rowAxes, Type half) {
  SmallVector<Atom> rows = view.collapsed(0, rowAxes),
                    columns = view.collapsed(rowAxes, view.axes.size());
  auto isAligned = [](const SizePolynomial &elements) {
    return elements.isConstant() && elements.constant() % halfRowGranule == 0;
  };
  return view.element() == half && rows.size() <= 1 && columns.size() == 1 &&
         columns[0].stride == SizePolynomial(1) && isAligned(view.offset) &&
         (rows.empty() || isAligned(rows[0].stride));
}

BufferView FunctionPlan::pitchedRows(RankedTensorType type, int64_t contract, int64_t pitch,
                                     int64_t spareRows, Type element, Operation *last) {
  int64_t lifted = type.getRank() - contract;
  SmallVector<SmallVector<Atom, 2>> axes(type.getRank());
  SizePolynomial stride(1);
  for (int64_t d = type.getRank() - 1; d >= 0; --d) {
    if (d == lifted - 1)
      stride = SizePolynomial(pitch);
    axes[d] = {Atom{sizeOf(type, d), stride}};
    stride = stride * sizeOf(type, d);
  }
  SizePolynomial elements = stride + SizePolynomial(spareRows * pitch);
  size_t slot = allocateSlot(elements * SizePolynomial(element.getIntOrFloatBitWidth() / 8));
  releases.push_back({last, slot});
  return BufferView{slotPointer(slot, element), 0, std::move(axes)};
}

FailureOr<Value> FunctionPlan::halfRows(LinearOp op, const BufferView &input) {
  RankedTensorType type = typeOf(op.getInput());
  int64_t contract = op.getContract();
  int64_t k = ShapedType::getNumElements(type.getShape().take_back(contract));
  BufferView rows =
      pitchedRows(type, contract, llvm::alignTo(k, halfRowGranule), 0, plan.keptHalf(), op);
  if (failed(copy(op, input, rows)))
    return failure();
  return rowsAndColumns(op, rows, type.getRank() - contract);
}

/// Rows behind the last one, since tile registers are read whole.
constexpr int64_t restOfTile = 15;

/// Bytes from one narrow row of a linear to the next: an odd number of cache lines, so that
/// neighbouring rows share no cache sets.
static int64_t narrowPitch(int64_t bytes) {
  constexpr int64_t line = 64;
  return (llvm::divideCeil(bytes, line) | 1) * line;
}

BufferView FunctionPlan::roundedRows(RankedTensorType type, int64_t contract, Operation *last) {
  int64_t k = ShapedType::getNumElements(type.getShape().take_back(contract));
  return pitchedRows(type, contract, narrowPitch(2 * k) / 2, restOfTile, builder.getI16Type(),
                     last);
}

FailureOr<FunctionPlan::NarrowRows> FunctionPlan::narrow(LinearOp op, const BufferView &input,
                                                         Precision precision) {
  RankedTensorType type = typeOf(op.getInput());
  int64_t lifted = type.getRank() - op.getContract();
  auto rows = readRows(op, input, type, lifted);
  if (failed(rows))
    return failure();
  int64_t k = cast<MemRefType>(rows->getType()).getShape().back();
  int64_t pitch = narrowPitch(takesBytes(precision) ? k : 2 * k);
  SizePolynomial count(1);
  for (int64_t d = 0; d < lifted; ++d)
    count = count * sizeOf(type, d);
  auto buffer = [&](const SizePolynomial &height, int64_t columns, Type element) {
    int64_t bytes = element.getIntOrFloatBitWidth() / 8;
    size_t slot = allocateSlot(height * SizePolynomial(columns * bytes));
    releases.push_back({op, slot});
    return BufferView{slotPointer(slot, element), 0, {}};
  };
  auto view = [&](const BufferView &view, int64_t columns, int64_t pitch) {
    return memrefOf(view, {Atom{count, pitch}, Atom{columns, 1}});
  };
  SizePolynomial room = count + SizePolynomial(restOfTile);
  if (precision == Precision::BF16) {
    BufferView rounded = buffer(room, pitch / 2, builder.getI16Type());
    RoundKernelOp::create(builder, op.getLoc(), *rows, view(rounded, pitch / 2, pitch / 2));
    barrier(op, KernelCost::ofRounding(type));
    return NarrowRows{view(rounded, k, pitch / 2), {}};
  }
  BufferView bytes = buffer(room, pitch, builder.getI8Type());
  Value range = view(buffer(count, 2, builder.getF32Type()), 2, 2);
  QuantizeKernelOp::create(builder, op.getLoc(), *rows, view(bytes, pitch, pitch), range);
  barrier(op, KernelCost::ofQuantization(type));
  return NarrowRows{view(bytes, llvm::alignTo(k, rowGranule(precision)), pitch), range};
}

LogicalResult FunctionPlan::emitLinear(LinearOp op) {
  RankedTensorType input = typeOf(op.getInput()), result = typeOf(op.getResult());
  int64_t contract = op.getContract(), lifted = input.getRank() - contract, k = 1;
  for (int64_t size : input.getShape().take_back(contract))
    k *= size;
  for (OperandRange values : {op.getWeights(), op.getBiases()})
    for (Value value : values)
      if (!value.getDefiningOp<GetOp>())
        return op.emitError("memory stage: expected weights and biases that are parameters");
  // Weights of 16 bits are multiplied by pairs.
  Precision precision = plan.precision;
  if (isHalf(precision) && input.getShape().back() % 2 != 0)
    precision = Precision::F32;
  auto slotOf = [&](OperandRange values, int64_t rows, Precision precision, Value &layer) {
    SmallVector<ParamOp> params;
    for (Value value : values) {
      auto get = value.getDefiningOp<GetOp>();
      params.push_back(plan.module.lookupSymbol<ParamOp>(get.getParam()));
      layer = get.getLayer() ? scalars.lookup(get.getLayer()) : Value();
    }
    return plan.layout.slot(params, rows, precision);
  };
  BufferView in = viewOf(op.getInput());
  if (!op.getNorm().empty()) { // normed rows, read by all threads
    // An odd number of columns is multiplied in f32.
    bool isNarrow = input.getShape().back() % 2 == 0;
    BufferView normed = areRounded(op) ? roundedRows(input, contract, op)
                                       : allocate(input, op, isNarrow ? plan.keptHalf() : Type());
    if (failed(
            emitNorm(op, op.getInput(), op.getNorm()[0], op.getNorm()[1], op.getEpsAttr(), normed)))
      return failure();
    in = normed;
  }
  Value layer, bias;
  SlotOp slot = slotOf(op.getWeights(), k, precision, layer);
  // `count` elements of a slot from `first` on.
  auto elements = [&](SlotOp slot, Type element, int64_t first, int64_t count) {
    return memrefOf(BufferView{pointerTo(slot, layer, element), first, {}}, {Atom{count, 1}});
  };
  Type f32 = builder.getF32Type(), i32 = builder.getI32Type(), i16 = builder.getI16Type();
  Type stored = takesBytes(precision)          ? Type(builder.getI8Type())
                : precision == Precision::BF16 ? i16
                : precision == Precision::F16  ? Type(builder.getF16Type())
                                               : f32;
  int64_t inPanels = panelElements(slot);
  Value panels = elements(slot, stored, 0, inPanels), inputBuffer, rounded;
  SmallVector<Value> quantization;
  int64_t contracted = 1;
  if (takesBytes(precision)) {
    auto rows = narrow(op, in, precision);
    if (failed(rows))
      return failure();
    inputBuffer = rows->elements;
    int64_t padded = llvm::alignTo(slot.getColumns(), panelWidth), scales = panelScales(slot);
    if (precision == Precision::Int8)
      quantization = {rows->range, elements(slot, f32, inPanels / 4, scales),
                      elements(slot, i32, inPanels / 4 + scales, padded)};
    else
      quantization = {rows->range, elements(slot, i16, inPanels / 2, scales),
                      elements(slot, f32, inPanels / 4 + scales / 2, padded)};
  } else if (isHalf(precision) && plan.isGpu && !hasHalfRows(in, lifted, plan.keptHalf())) {
    auto rows = halfRows(op, in);
    if (failed(rows))
      return failure();
    inputBuffer = *rows;
  } else {
    SmallVector<Atom> atoms = atLeastOne(in.collapsed(0, lifted)),
                      columns = atLeastOne(in.collapsed(lifted, input.getRank()));
    contracted = static_cast<int64_t>(columns.size());
    atoms.append(columns);
    inputBuffer = memrefOf(in, atoms);
    if (precision == Precision::BF16 && plan.multipliesPairs() && !plan.isGpu &&
        in.element().isF32()) {
      auto rows = narrow(op, in, precision);
      if (failed(rows))
        return failure();
      rounded = rows->elements;
    }
  }
  if (!op.getBiases().empty()) {
    SlotOp row = slotOf(op.getBiases(), 0, Precision::F32, layer);
    bias = elements(row, f32, 0, row.getColumns());
  }
  SmallVector<Value> captures;
  for (Value capture : op.getCaptures()) {
    auto buffer =
        readRows(op, broadcast(viewOf(capture), capture.getType(), result), result, lifted);
    if (failed(buffer))
      return failure();
    captures.push_back(*buffer);
  }
  auto out = rowsAndColumns(op, outputOf(op.getResult()), lifted);
  if (failed(out))
    return failure();
  int64_t floats = 0; // of scratch
  if (isHalf(precision))
    floats = panelWidth * std::min(k, TargetModel::partDepth);
  if (precision == Precision::Int8 || (precision == Precision::BF16 && plan.multipliesPairs()))
    floats = std::max(floats, panelWidth * TargetModel::tileGroupRows);
  Value scratch = floats && !plan.isGpu ? threadRows(op, floats) : Value();
  auto kernel = LinearKernelOp::create(builder, op.getLoc(), inputBuffer, panels, quantization,
                                       rounded, scratch, bias, captures, *out, contracted);
  op.getEpilogue().cloneInto(&kernel.getEpilogue(), scalars);
  KernelCost cost = KernelCost::of(op);
  int64_t saved = 4 * k * static_cast<int64_t>(slot.getColumns()) * (panelGroup(precision) - 1) /
                  panelGroup(precision);
  if (precision == Precision::Int4)
    saved -= 2 * panelScales(slot);
  cost.bytes = cost.bytes - SizePolynomial(saved);
  barrier(op, cost);
  return success();
}

LogicalResult FunctionPlan::emitNorm(Operation *op, Value input, Value gamma, Value beta,
                                     FloatAttr eps, const BufferView &out) {
  int64_t rank = typeOf(input).getRank(), normed = typeOf(gamma).getRank();
  auto in = readRows(op, viewOf(input), typeOf(input), rank - normed),
       result = rowsAndColumns(op, out, rank - normed);
  auto gammaRow = viewOf(gamma), betaRow = viewOf(beta);
  if (failed(in) || failed(result))
    return failure();
  Value g = memrefOf(gammaRow, atLeastOne(gammaRow.collapsed(0, normed)));
  Value b = memrefOf(betaRow, atLeastOne(betaRow.collapsed(0, normed)));
  NormKernelOp::create(builder, op->getLoc(), *in, g, b, *result, eps);
  barrier(op, KernelCost::ofNorm(typeOf(input), gamma));
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
/// and of keys and values there. On a GPU, of an argument of 16 bits, too, that is multiplied as it
/// is, and of what has been computed to the place of its rounded result.
bool FunctionPlan::isInPlace(MapOp op) {
  for (Type half : {Type(builder.getBF16Type()), Type(builder.getF16Type())}) {
    if (!converts(op, half))
      continue;
    bool isPushed = op.getResult().hasOneUse() && isa<PushOp>(*op.getResult().user_begin());
    bool isKept = isa_and_present<PushOp>(rootOf(op.getInputs()[0]).getDefiningOp()) &&
                  isOnlyAttendedTo(op.getResult());
    if (isPushed || isKept)
      return true;
  }
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
