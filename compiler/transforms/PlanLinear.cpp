// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fused -> memory, linears: where rows are bytes, in bf16 or in halves, and who makes them so.
#include "compiler/transforms/FewQueries.h"
#include "compiler/transforms/PlanMemoryImpl.h"
#include "compiler/transforms/TargetModel.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace attn;

Precision FunctionPlan::precisionOf(LinearOp op) {
  // Weights of 16 bits are multiplied by pairs.
  bool isOdd = typeOf(op.getInput()).getShape().back() % 2 != 0;
  return isHalf(plan.precision) && isOdd ? Precision::F32 : plan.precision;
}

bool FunctionPlan::areRounded(LinearOp op) {
  // In pairs, without padding, and more rows than are multiplied as f32.
  constexpr int64_t granule = 32;
  ArrayRef<int64_t> shape = typeOf(op.getInput()).getShape();
  ArrayRef<int64_t> rows = shape.drop_back(op.getContract()),
                    contracted = shape.take_back(op.getContract());
  bool areFew =
      !ShapedType::isDynamicShape(rows) && ShapedType::getNumElements(rows) <= TargetModel::fewRows;
  bool isNarrow = plan.precision == Precision::BF16 || takesBytes(plan.precision);
  return plan.targets.allLevelsMultiplyPairs() && isNarrow && !areFew && !rows.empty() &&
         !ShapedType::isDynamicShape(contracted) && contracted.back() % 2 == 0 &&
         ShapedType::getNumElements(contracted) % granule == 0;
}

LinearOp FunctionPlan::roundedFor(Value tensor) {
  Operation *source = tensor.getDefiningOp();
  auto attention = dyn_cast<AttentionOp>(source);
  bool isSource = attention ? tensor == attention->getResult(0) && hasManyQueries(attention)
                            : isa<LinearOp, NormOp>(source);
  LinearOp first;
  for (OpOperand &use : tensor.getUses()) {
    auto linear = dyn_cast<LinearOp>(use.getOwner());
    if (!isSource || !linear || use.getOperandNumber() != 0 || !!linear.getNorm() ||
        !areRounded(linear) || (first && first.getContract() != linear.getContract()))
      return {};
    first = linear;
  }
  return first;
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

FunctionPlan::NarrowRows FunctionPlan::allocateNarrow(LinearOp op, Precision precision) {
  RankedTensorType type = typeOf(op.getInput());
  bool areBytes = takesBytes(precision);
  int64_t k = ShapedType::getNumElements(type.getShape().take_back(op.getContract()));
  int64_t pitch = areBytes ? narrowPitch(k) : narrowPitch(2 * k) / 2;
  int64_t lifted = type.getRank() - op.getContract();
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
  BufferView rows = buffer(count + SizePolynomial(restOfTile), pitch,
                           areBytes ? builder.getI8Type() : builder.getI16Type());
  Value range = areBytes ? view(buffer(count, 2, builder.getF32Type()), 2, 2) : Value();
  int64_t columns = llvm::alignTo(k, areBytes ? rowGranule(precision) : 1);
  return {view(rows, pitch, pitch), view(rows, columns, pitch), range};
}

FailureOr<FunctionPlan::NarrowRows> FunctionPlan::narrow(LinearOp op, const BufferView &input,
                                                         Precision precision) {
  RankedTensorType type = typeOf(op.getInput());
  auto rows = readRows(op, input, type, type.getRank() - op.getContract());
  if (failed(rows))
    return failure();
  NarrowRows narrow = allocateNarrow(op, precision);
  if (takesBytes(precision)) {
    QuantizeKernelOp::create(builder, op.getLoc(), *rows, narrow.padded, narrow.range);
    barrier(op, KernelCost::ofQuantization(type, input.element()));
  } else {
    RoundKernelOp::create(builder, op.getLoc(), *rows, narrow.padded);
    barrier(op, KernelCost::ofRounding(type));
  }
  return narrow;
}

FailureOr<FunctionPlan::NarrowRows> FunctionPlan::normedBytes(LinearOp op, Precision precision) {
  RankedTensorType type = typeOf(op.getInput());
  auto norm = normRows(op, op.getInput(), RowNorm::of(op));
  if (failed(norm))
    return failure();
  int64_t k = ShapedType::getNumElements(type.getShape().take_back(op.getContract()));
  Type element = areRounded(op) ? Type(builder.getI16Type()) : builder.getF32Type();
  Value scratch = threadRows(op, k, 0, element);
  NarrowRows narrow = allocateNarrow(op, precision);
  NormBytesKernelOp::create(builder, op.getLoc(), norm->input, norm->weight, norm->bias, scratch,
                            narrow.padded, narrow.range, op.getNormAttr());
  barrier(op, KernelCost::ofNormedBytes(type, RowNorm::of(op)));
  return narrow;
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
  Precision precision = precisionOf(op);
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
  NarrowRows narrowRows;
  bool normsToBytes = op.getNorm() && takesBytes(precision) && !plan.isGpu();
  if (normsToBytes) {
    auto rows = normedBytes(op, precision);
    if (failed(rows))
      return failure();
    narrowRows = *rows;
  } else if (op.getNorm()) { // normed rows, read by all threads
    // An odd number of columns is multiplied in f32.
    bool isNarrow = input.getShape().back() % 2 == 0;
    BufferView normed = areRounded(op) ? roundedRows(input, contract, op)
                                       : allocate(input, op, isNarrow ? plan.keptHalf() : Type());
    if (failed(emitNorm(op, op.getInput(), RowNorm::of(op), normed)))
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
    if (!normsToBytes) {
      auto rows = narrow(op, in, precision);
      if (failed(rows))
        return failure();
      narrowRows = *rows;
    }
    inputBuffer = narrowRows.elements;
    int64_t padded = llvm::alignTo(slot.getColumns(), panelWidth), scales = panelScales(slot);
    if (precision == Precision::Int8)
      quantization = {narrowRows.range, elements(slot, f32, inPanels / 4, scales),
                      elements(slot, i32, inPanels / 4 + scales, padded)};
    else
      quantization = {narrowRows.range, elements(slot, i16, inPanels / 2, scales),
                      elements(slot, f32, inPanels / 4 + scales / 2, padded)};
  } else if (isHalf(precision) && plan.isGpu() && !hasHalfRows(in, lifted, plan.keptHalf())) {
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
    if (precision == Precision::BF16 && plan.multipliesPairs() && !plan.isGpu() &&
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
  int64_t floats = 0, shared = 0; // of scratch: columns, and rows that are no thread's
  if (isHalf(precision))
    floats = panelWidth * std::min(k, TargetModel::partDepth);
  if (precision == Precision::Int8 || (precision == Precision::BF16 && plan.multipliesPairs())) {
    floats = std::max(floats, panelWidth * TargetModel::tileBlockRows);
    int64_t panels = llvm::divideCeil(slot.getColumns(), panelWidth);
    if (TargetModel::tileParts(precision == Precision::Int8 ? k : 2 * k) > 1)
      shared = llvm::divideCeil(panels * panelWidth * TargetModel::tileGroupRows, floats);
  }
  Value scratch = floats && !plan.isGpu() ? threadRows(op, floats, shared) : Value();
  auto kernel = LinearKernelOp::create(builder, op.getLoc(), inputBuffer, panels, quantization,
                                       rounded, scratch, bias, captures, *out, contracted,
                                       inPlace.contains(op.getResult()));
  op.getEpilogue().cloneInto(&kernel.getEpilogue(), scalars);
  Type read = cast<MemRefType>((rounded ? rounded : inputBuffer).getType()).getElementType();
  KernelCost cost = costOf(op, {{op.getInput(), read}});
  int64_t saved = 4 * k * static_cast<int64_t>(slot.getColumns()) * (panelGroup(precision) - 1) /
                  panelGroup(precision);
  if (precision == Precision::Int4)
    saved -= 2 * panelScales(slot);
  cost.bytes = cost.bytes - SizePolynomial(saved);
  barrier(op, cost);
  return success();
}
