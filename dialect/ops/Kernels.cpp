// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels on buffers: verification. Those on rows: RowKernels.cpp.
#include "dialect/WeightFormat.h"
#include "dialect/ops/Buffers.h"

using namespace mlir;
using namespace attn;

static bool isPointer(Type type) {
  auto memref = cast<MemRefType>(type);
  return memref.getRank() == 0 && memref.getLayout().isIdentity();
}

/// A region that maps `count` f32 to one.
static bool isScalarFunction(Region &region, size_t count) {
  Block &block = region.front();
  auto yield = dyn_cast<YieldOp>(block.back());
  return block.getNumArguments() == count &&
         llvm::all_of(block.getArgumentTypes(), [](Type type) { return type.isF32(); }) && yield &&
         yield.getValue().getType().isF32();
}

LogicalResult SlotOp::verify() {
  if (getK() < 1 || getColumns() < 1 || getWidth() < 0 || getBytes() < 0 || getLayers() < 1 ||
      getOffset() < 0 || getLayerStride() < 0) // slot_c1
    return emitOpError("expected sizes of at least 1, and offsets that are not negative");
  if (getParams().empty() != getAngles().has_value() ||
      !llvm::all_of(getParams(), llvm::IsaPred<FlatSymbolRefAttr>)) // slot_c2
    return emitOpError("expected the symbols of its parameters, or angles");
  if (Precision stored = storedPrecision(getPrecision()); stored != getPrecision()) // slot_c3
    return emitOpError("expected a precision that weights are stored in, but ")
           << stringifyPrecision(getPrecision()) << " is stored as " << stringifyPrecision(stored);
  if (getWidth() == 0 && rowPrecision(getPrecision()) != getPrecision()) // slot_c4
    return emitOpError("expected rows of f32, bf16 or f16, but got ")
           << stringifyPrecision(getPrecision());
  if (std::optional<AnglesAttr> angles = getAngles();
      angles && (getWidth() != 0 || getPrecision() != Precision::F32 || getLayers() != 1 ||
                 getColumns() != uint64_t(angles->getFrequencies().size()) ||
                 getK() != uint64_t(angles->positions()))) // slot_c5
    return emitOpError("expected angles as rows of f32, one for each position");
  return success();
}

LogicalResult AddressOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto slot = symbols.lookupNearestSymbolFrom<SlotOp>(*this, getSlotAttr());
  if (!slot) // address_c1
    return emitOpError("expected a slot, but @") << getSlot() << " is none";
  if (slot.getLayers() > 1 && !getLayer()) // address_c2
    return emitOpError("expected a layer: @") << getSlot() << " belongs to a stack";
  if (!isPointer(getPacked().getType()) || !isPointer(getResult().getType())) // address_c3
    return emitOpError("expected pointers: memrefs of rank 0");
  return success();
}

LogicalResult BarrierOp::verify() {
  if (!isPointer(getCall().getType())) // barrier_c1
    return emitOpError("expected a pointer: a memref of rank 0");
  return success();
}

LogicalResult BarrierOp::verifySymbolUses(SymbolTableCollection &symbols) {
  if (auto cost = getCostAttr(); cost && !symbols.lookupNearestSymbolFrom<CostOp>(*this, cost))
    return emitOpError("expected a cost, but ") << cost << " is none"; // barrier_c2
  return success();
}

LogicalResult CostOp::verify() {
  for (ArrayAttr terms : {getFlop(), getBytes()})
    for (Attribute term : terms) {
      auto factors = dyn_cast<ArrayAttr>(term);
      if (!factors || factors.empty() || !isa<IntegerAttr>(factors[0]) ||
          !llvm::all_of(factors.getValue().drop_front(), llvm::IsaPred<StringAttr>)) // cost_c1
        return emitOpError("expected terms of a factor and names of dims, but got ") << term;
    }
  return success();
}

LogicalResult LinearKernelOp::verify() {
  MemRefType input = typeOf(getInput()), panels = typeOf(getPanels()), out = typeOf(getOut());
  int64_t contract = getContract();
  if (contract < 1 || input.getRank() <= contract) // linear_kernel_c1
    return emitOpError("expected an input of rows and ") << contract << " contracted dims";
  int64_t k = product(input.getShape().take_back(contract));
  if (ShapedType::isDynamic(k) || k < 1) // linear_kernel_c2
    return emitOpError("expected static contracted dims");
  if (out.getRank() < 2 || ShapedType::isDynamic(out.getShape().back())) // linear_kernel_c3
    return emitOpError("expected an output of rows and static columns");
  int64_t columns = out.getShape().back();
  if (panels.getElementType() != panelElement(getContext(), getPrecision())) // linear_kernel_c13
    return emitOpError("expected panels of ")
           << panelElement(getContext(), getPrecision()) << " in "
           << stringifyPrecision(getPrecision()) << ", but got " << panels;
  const WeightFormat &format = formatOf(getPrecision());
  bool hasGroups = format.hasGroups(), isQuantized = format.takesBytes();
  if (panels.getRank() != 1 ||
      panels.getDimSize(0) * (format.isOfHalfBytes() ? 2 : 1) / k < columns) // linear_kernel_c4
    return emitOpError("expected panels for ") << columns << " columns of " << k << " elements";
  if (input.getElementType().isInteger(8) != isQuantized ||
      getQuantization().size() != (hasGroups     ? 5
                                   : isQuantized ? 3
                                                 : 0)) // linear_kernel_c9
    return emitOpError("expected rows of int8 and their quantization exactly for panels of int8");
  if (Value rounded = getRounded())
    if (!panels.getElementType().isInteger(16) || typeOf(rounded).getRank() != 2 ||
        !agree(rowsOf(rounded), rowsOf(getOut()))) // linear_kernel_c10
      return emitOpError("expected rounded rows for panels of bf16");
  if (input.getElementType().isInteger(16) &&
      (!panels.getElementType().isInteger(16) || getRounded())) // linear_kernel_c12
    return emitOpError("expected rows in bf16 for panels of bf16, and these alone");
  if (getScratch() && panels.getElementType().isF32()) // linear_kernel_c11
    return emitOpError("expected scratch for panels that are not f32");
  int64_t ranges = isQuantized ? columnsOf(getQuantization()[0]) : 0;
  if (isQuantized && ((ranges != 2 && (!format.hasOffsets || ranges != 2 + k / scaleGroup)) ||
                      !agree(rowsOf(getQuantization()[0]), rowsOf(getOut())) ||
                      typeOf(getQuantization()[1]).getElementType().isF16() != hasGroups ||
                      llvm::any_of(getQuantization().drop_front(), [&](Value buffer) {
                        return columnsOf(buffer) < columns;
                      }))) // linear_kernel_c9
    return emitOpError("expected scale and zero of each row, scale and sum of each column");
  if (Value bias = getBias())
    if (typeOf(bias).getRank() != 1 || columnsOf(bias) != columns) // linear_kernel_c5
      return emitOpError("expected a bias of ") << columns << " elements";
  for (Value capture : getCaptures())
    if (typeOf(capture).getRank() < 2 || columnsOf(capture) != columns ||
        !agree(rowsOf(capture), rowsOf(getOut()))) // linear_kernel_c6
      return emitOpError("expected captures with the output's rows and columns");
  if (!agree(rowsOf(getInput(), contract), rowsOf(getOut()))) // linear_kernel_c7
    return emitOpError("expected as many rows of input as of output");
  if (getEpilogue().empty() ? !getCaptures().empty()
                            : !isScalarFunction(getEpilogue(), 1 + getCaptures().size())) // c8
    return emitOpError("expected an epilogue (sum, captures...) -> f32");
  return success();
}

LogicalResult AttentionKernelOp::verify() {
  int64_t rank = static_cast<int64_t>(getBatch()) + 2;
  for (Value buffer : {getQuery(), getKey(), getValue(), getOut()})
    if (typeOf(buffer).getRank() != rank ||
        ShapedType::isDynamic(columnsOf(buffer))) // attention_kernel_c1
      return emitOpError("expected buffers [")
             << getBatch() << " batch dims, positions, static features]";
  auto positions = [&](Value buffer) { return typeOf(buffer).getDimSize(rank - 2); };
  if (columnsOf(getQuery()) != columnsOf(getKey()) ||
      columnsOf(getValue()) != columnsOf(getOut()) ||
      !agree(positions(getQuery()), positions(getOut())) ||
      !agree(positions(getKey()), positions(getValue()))) // attention_kernel_c2
    return emitOpError("expected query [M, E], key [S, E], value [S, V] and output [M, V]");
  for (int64_t d = 0; d + 2 < rank; ++d)
    for (Value buffer : {getQuery(), getKey(), getValue()})
      if (!agree(typeOf(buffer).getDimSize(d), typeOf(getOut()).getDimSize(d))) // c3
        return emitOpError("expected the same batch dims in all buffers");
  if (typeOf(getScratch()).getRank() != 2) // attention_kernel_c4
    return emitOpError("expected scratch [threads, floats]");
  if (getPartials() && typeOf(getPartials()).getRank() != 3) // attention_kernel_c7
    return emitOpError("expected partials [heads, parts, floats]");
  auto captures = static_cast<int64_t>(getCaptures().size());
  std::pair<Region *, int64_t> regions[] = {{&getScore(), 2 + rank + captures},
                                            {&getBias(), 1 + rank + captures},
                                            {&getCap(), 1},
                                            {&getMask(), rank + captures},
                                            {&getSink(), rank - 1 + captures}};
  for (auto [region, count] : regions)
    if (!region->empty() &&
        static_cast<int64_t>(region->getNumArguments()) != count) // attention_kernel_c5
      return emitOpError("expected regions of their own arguments, ")
             << rank << " positions and " << captures << " captures";
  SmallVector<Returned> kinds = returnedKinds();
  if (kinds.size() != getFurther().size()) // attention_kernel_c6
    return emitOpError("expected ") << kinds.size() << " further results";
  for (auto [kind, buffer] : llvm::zip_equal(kinds, getFurther()))
    if (typeOf(buffer).getRank() != rank - (kind == Returned::LogSumExp)) // attention_kernel_c6
      return emitOpError("expected lse [batch..., M], weights and scores [batch..., M, S]");
  return success();
}

LogicalResult CombineKernelOp::verify() {
  if (typeOf(getPartials()).getRank() != 3) // combine_kernel_c1
    return emitOpError("expected partials [heads, parts, floats]");
  int64_t rank = typeOf(getOut()).getRank();
  if (rank < 2 || ShapedType::isDynamicShape(
                      typeOf(getOut()).getShape().drop_front(rank - 2))) // combine_kernel_c2
    return emitOpError("expected an output [batch..., queries, features] of static rows");
  return success();
}
