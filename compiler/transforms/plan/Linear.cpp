// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fused -> memory, linears: who norms, rounds or quantises the rows, where the weights are, and
// what a kernel works in.
#include "compiler/transforms/TargetModel.h"
#include "compiler/transforms/plan/Buffers.h"
#include "compiler/transforms/plan/Costs.h"
#include "compiler/transforms/plan/Elements.h"
#include "compiler/transforms/plan/NarrowRows.h"
#include "compiler/transforms/plan/Norm.h"
#include "compiler/transforms/plan/Operands.h"
#include "compiler/transforms/plan/Ops.h"
#include "compiler/transforms/plan/Places.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace attn::planning {

namespace {

/// A slot of parameters, and the layer where they belong to a stack.
struct LayerSlot {
  SlotOp slot;
  Value layer;
};

/// A linear's input on its way to what the kernel reads.
struct LinearInput {
  BufferView view;        ///< As it is, or normed.
  NarrowRows bytes;       ///< As bytes, where it is multiplied so.
  Value buffer, rounded;  ///< What the kernel reads.
  int64_t contracted = 1; ///< Dims of `buffer` that are contracted.
};

} // namespace

/// Elements of a row, those of all contracted axes.
static int64_t depthOf(LinearOp op) {
  return ShapedType::getNumElements(typeOf(op.getInput()).getShape().take_back(op.getContract()));
}

/// Axes of the input that are not contracted.
static int64_t rowAxesOf(LinearOp op) { return typeOf(op.getInput()).getRank() - op.getContract(); }

static LayerSlot slotOf(FunctionPlan &plan, OperandRange values, int64_t rows,
                        Precision precision) {
  Value layer;
  SmallVector<ParamOp> params;
  for (Value value : values) {
    auto get = value.getDefiningOp<GetOp>();
    params.push_back(plan.module.op.lookupSymbol<ParamOp>(get.getParam()));
    layer = get.getLayer() ? plan.scalars.lookup(get.getLayer()) : Value();
  }
  return {plan.module.layout.slot(params, rows, storedPrecision(precision)), layer};
}

/// `count` elements of a slot from `first` on.
static Value elements(FunctionPlan &plan, LayerSlot from, Type element, int64_t first,
                      int64_t count) {
  Value pointer = pointerTo(plan, from.slot, from.layer, element);
  return memrefOf(plan, BufferView{pointer, first, {}}, {Atom{count, 1}});
}

/// Norms the input, if it is to be normed, to rows that all threads read, or to bytes at once.
static LogicalResult normInput(FunctionPlan &plan, LinearOp op, Precision precision,
                               LinearInput &input) {
  if (!op.getNorm())
    return success();
  if (formatOf(precision).takesBytes() && plan.module.placement().preparesRows) {
    auto rows = normedBytes(plan, op, precision);
    if (failed(rows))
      return failure();
    input.bytes = *rows;
    return success();
  }
  RankedTensorType type = typeOf(op.getInput());
  // An odd number of columns is multiplied in f32.
  bool isNarrow = type.getShape().back() % 2 == 0;
  input.view = areRounded(plan.module, op)
                   ? roundedRows(plan, type, op.getContract(), op)
                   : allocate(plan, type, op, isNarrow ? plan.module.keptHalf() : Type());
  return emitNorm(plan, op, op.getInput(), RowNorm::of(op), input.view);
}

/// What the kernel reads of the input: rows that are made of it, or the input itself and what it is
/// rounded to.
static LogicalResult readInput(FunctionPlan &plan, LinearOp op, Precision precision,
                               LinearInput &input) {
  int64_t lifted = rowAxesOf(op);
  if (formatOf(precision).takesBytes()) {
    if (!input.bytes.elements) {
      auto rows = narrow(plan, op, input.view, precision);
      if (failed(rows))
        return failure();
      input.bytes = *rows;
    }
    input.buffer = input.bytes.elements;
    return success();
  }
  if (formatOf(precision).isHalf() && plan.module.placement().keepsHalves &&
      !hasHalfRows(input.view, lifted, plan.module.keptHalf())) {
    auto rows = halfRows(plan, op, input.view);
    if (failed(rows))
      return failure();
    input.buffer = *rows;
    return success();
  }
  SmallVector<Atom> atoms = atLeastOne(input.view.collapsed(0, lifted)),
                    columns = atLeastOne(input.view.collapsed(lifted, input.view.axes.size()));
  input.contracted = static_cast<int64_t>(columns.size());
  atoms.append(columns);
  input.buffer = memrefOf(plan, input.view, atoms);
  if (precision == Precision::BF16 && plan.module.multipliesPairs() &&
      plan.module.placement().preparesRows && input.view.element().isF32()) {
    auto rows = narrow(plan, op, input.view, precision);
    if (failed(rows))
      return failure();
    input.rounded = rows->elements;
  }
  return success();
}

/// What turns sums of bytes into floats (attn.linear_kernel).
static SmallVector<Value> quantizationOf(FunctionPlan &plan, LayerSlot weights, Value range) {
  Type f32 = plan.builder.getF32Type();
  SlotOp slot = weights.slot;
  const WeightFormat &format = formatOf(slot.getPrecision());
  int64_t padded = paddedColumns(slot.getColumns(), panelWidth);
  PanelPlaces places(format, slot.getK(), padded);
  SmallVector<Value> buffers{range};
  if (format.hasGroups()) {
    buffers.push_back(elements(plan, weights, plan.builder.getF16Type(), places.lines / 2,
                               padded * format.lines(slot.getK())));
    buffers.push_back(elements(plan, weights, f32, places.sums / 4, padded));
  }
  buffers.push_back(elements(plan, weights, f32, places.byteScales / 4, padded));
  buffers.push_back(
      elements(plan, weights, plan.builder.getI32Type(), places.byteSums / 4, padded));
  return buffers;
}

/// The captures as [rows..., columns] of the result.
static FailureOr<SmallVector<Value>> readCaptures(FunctionPlan &plan, LinearOp op) {
  RankedTensorType result = typeOf(op.getResult());
  SmallVector<Value> captures;
  for (Value capture : op.getCaptures()) {
    auto buffer = readRows(plan, op, broadcast(viewOf(plan, capture), capture.getType(), result),
                           result, rowAxesOf(op));
    if (failed(buffer))
      return failure();
    captures.push_back(*buffer);
  }
  return captures;
}

/// Whether there are never more rows than that it is worth to make something of the weights first.
static bool hasFewRows(FunctionPlan &plan, LinearOp op) {
  RankedTensorType result = typeOf(op.getResult());
  int64_t rows = 1;
  for (int64_t d = 0, end = rowAxesOf(op); d < end; ++d) {
    int64_t size = result.getDimSize(d);
    if (result.isDynamicDim(d)) {
      LinearSize known = *parseLinearSize(axesOf(result)[d].getValue());
      auto dim = plan.module.op.lookupSymbol<DimOp>(known.dim); // none of rows of an expert
      size = dim ? known.scale * static_cast<int64_t>(dim.getSize()) + known.offset
                 : TargetModel::fewRows + 1;
    }
    if (size > TargetModel::fewRows) // no product of such can overflow
      return false;
    rows *= size;
  }
  return rows <= TargetModel::fewRows;
}

/// What the kernels of CPUs work in, or null.
static Value scratchOf(FunctionPlan &plan, LinearOp op, Precision precision, SlotOp weights) {
  bool arePairs = precision == Precision::BF16 && plan.module.multipliesPairs();
  if (hasFewRows(plan, op) && !arePairs)
    return Value();
  int64_t k = depthOf(op);
  int64_t floats = 0, shared = 0; // columns, and rows that are no thread's
  // Many rows may be multiplied in another way than few, with other bits.
  bool isAlike = plan.source->hasAttr(attributes::rows);
  if (formatOf(precision).isHalf())
    floats = panelWidth * std::min(k, TargetModel::partDepth);
  if (!isAlike && (formatOf(precision).takesBytes() || arePairs)) {
    floats = std::max(floats, panelWidth * TargetModel::tileBlockRows);
    if (formatOf(precision).hasGroups()) // a part of a panel as int8
      floats += panelWidth / 4 * std::min<int64_t>(llvm::alignTo(k, 64), TargetModel::byteDepth);
    int64_t panels = llvm::divideCeil(weights.getColumns(), panelWidth);
    if (TargetModel::tileParts(formatOf(precision).takesBytes() ? k : 2 * k) > 1)
      shared = llvm::divideCeil(panels * panelWidth * TargetModel::tileGroupRows, floats);
  }
  return floats && plan.module.placement().threadsHaveRows ? threadRows(plan, op, floats, shared)
                                                           : Value();
}

/// Bytes that the weights take less than their types say.
static int64_t savedWeightBytes(SlotOp weights) {
  const WeightFormat &format = formatOf(weights.getPrecision());
  int64_t k = weights.getK(), columns = weights.getColumns();
  int64_t lines = format.lines(k) * paddedColumns(columns, panelWidth);
  return 4 * k * columns * (format.group() - 1) / format.group() - 2 * lines;
}

/// Elements of the panels of a slot, the padding included: what comes before the scales.
static int64_t panelElements(SlotOp slot) {
  const WeightFormat &format = formatOf(slot.getPrecision());
  return paddedColumns(slot.getColumns(), panelWidth) * format.words(slot.getK()) *
         format.elementsPerWord();
}

LogicalResult emit(FunctionPlan &plan, LinearOp op) {
  for (OperandRange values : {op.getWeights(), op.getBiases()})
    for (Value value : values)
      if (!value.getDefiningOp<GetOp>())
        return op.emitError("memory stage: expected weights and biases that are parameters");
  Precision precision = precisionOf(plan.module, op);
  LinearInput input;
  input.view = viewOf(plan, op.getInput());
  if (failed(normInput(plan, op, precision, input)))
    return failure();
  LayerSlot weights = slotOf(plan, op.getWeights(), depthOf(op), precision);
  Value panels = elements(plan, weights, panelElement(op.getContext(), precision), 0,
                          panelElements(weights.slot));
  if (failed(readInput(plan, op, precision, input)))
    return failure();
  SmallVector<Value> quantization;
  if (formatOf(precision).takesBytes())
    quantization = quantizationOf(plan, weights, input.bytes.range);
  Value bias;
  if (!op.getBiases().empty()) {
    LayerSlot row = slotOf(plan, op.getBiases(), 0, Precision::F32);
    bias = elements(plan, row, plan.builder.getF32Type(), 0, row.slot.getColumns());
  }
  auto captures = readCaptures(plan, op);
  if (failed(captures))
    return failure();
  auto out = rowsAndColumns(plan, op, outputOf(plan, op.getResult()), rowAxesOf(op));
  if (failed(out))
    return failure();
  Value scratch = scratchOf(plan, op, precision, weights.slot);
  auto kernel = LinearKernelOp::create(
      plan.builder, op.getLoc(), input.buffer, panels, quantization, input.rounded, scratch, bias,
      *captures, *out, input.contracted, precision, plan.places.inPlace.contains(op.getResult()));
  op.getEpilogue().cloneInto(&kernel.getEpilogue(), plan.scalars);
  Value read = input.rounded ? input.rounded : input.buffer;
  KernelCost cost =
      costOf(plan, op, {{op.getInput(), cast<MemRefType>(read.getType()).getElementType()}});
  cost.bytes = cost.bytes - SizePolynomial(savedWeightBytes(weights.slot));
  barrier(plan, op, cost);
  return success();
}

} // namespace attn::planning
