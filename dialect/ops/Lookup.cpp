// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn.lookup, attn.pick, attn.table: rows and elements by index, and constants.
#include "dialect/AttnDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include <cmath>

using namespace mlir;
using namespace attn;

LogicalResult LookupOp::verify() {
  auto table = cast<RankedTensorType>(getTable().getType()),
       indices = cast<RankedTensorType>(getIndices().getType()),
       result = cast<RankedTensorType>(getResult().getType());
  Type element = indices.getElementType();
  if (!element.isInteger(32) && !element.isInteger(64)) // lookup_c1
    return emitOpError("expected indices of i32 or i64, but got ") << element;
  if (table.getRank() < 2 || !table.hasStaticShape()) // lookup_c2
    return emitOpError("expected a table of rows, of static size");
  SmallVector<int64_t> shape(indices.getShape());
  SmallVector<StringAttr> names(axesOf(indices));
  llvm::append_range(shape, table.getShape().drop_front());
  llvm::append_range(names, axesOf(table).drop_front());
  auto expected = axesTensor(table.getElementType(), shape, names);
  if (result != expected) // lookup_c3
    return emitOpError("expected a result of the indices' axes, then those of a row, ")
           << expected << ", but got " << result;
  if (!hasDistinctAxes(result)) // lookup_c4
    return emitOpError("expected every axis once");
  return success();
}

bool LookupOp::isBeginning() {
  auto table = withoutRelabels(getIndices()).getDefiningOp<TableOp>();
  auto elements = table ? dyn_cast<DenseElementsAttr>(table.getElements()) : DenseElementsAttr();
  if (!elements || elements.getType().getRank() != 1)
    return false;
  int64_t next = 0;
  return llvm::all_of(elements.getValues<APInt>(),
                      [&](const APInt &index) { return index.getSExtValue() == next++; });
}

bool LookupOp::becomesKernel() { return !isBeginning(); }

/// As much of the table as is copied.
SmallVector<Value> LookupOp::movedTensors() { return {getIndices(), getResult(), getResult()}; }

SmallVector<int64_t> PickOp::newAxes() {
  StringAttr picked = axesOf(getInput().getType())[getAxis()];
  SmallVector<int64_t> added;
  for (auto [i, axis] : llvm::enumerate(axesOf(getIndices().getType())))
    if (axis == picked || axisIndex(getInput().getType(), axis) < 0)
      added.push_back(static_cast<int64_t>(i));
  return added;
}

LogicalResult PickOp::verify() {
  auto input = cast<RankedTensorType>(getInput().getType()),
       indices = cast<RankedTensorType>(getIndices().getType()),
       result = cast<RankedTensorType>(getResult().getType());
  Type element = indices.getElementType();
  if (!element.isInteger(32) && !element.isInteger(64)) // pick_c1
    return emitOpError("expected indices of i32 or i64, but got ") << element;
  int64_t axis = getAxis();
  if (axis < 0 || axis >= input.getRank()) // pick_c2
    return emitOpError("expected an axis of ") << input << ", but got " << axis;
  for (auto [name, size] : llvm::zip(axesOf(indices), indices.getShape()))
    if (int64_t d = axisIndex(input, name);
        d >= 0 && d != axis && input.getDimSize(d) != size) // pick_c3
      return emitOpError("expected indices along axes of the input, but got ") << name;
  SmallVector<int64_t> shape;
  SmallVector<StringAttr> names;
  for (int64_t d = 0; d < input.getRank(); ++d) {
    if (d != axis) {
      shape.push_back(input.getDimSize(d));
      names.push_back(axesOf(input)[d]);
      continue;
    }
    for (int64_t i : newAxes()) {
      shape.push_back(indices.getDimSize(i));
      names.push_back(axesOf(indices)[i]);
    }
  }
  auto expected = axesTensor(input.getElementType(), shape, names);
  if (result != expected || !hasDistinctAxes(result)) // pick_c4
    return emitOpError("expected ") << expected << ", but got " << result;
  return success();
}

/// As much of the input as is copied.
SmallVector<Value> PickOp::movedTensors() { return {getIndices(), getResult(), getResult()}; }

LogicalResult AnglesAttr::verify(function_ref<InFlightDiagnostic()> emitError, Type type,
                                 AngleFunction, DenseF64ArrayAttr frequencies) {
  auto table = dyn_cast_if_present<RankedTensorType>(type);
  if (!table || !table.getElementType().isF32() || table.getRank() != 2 ||
      !table.hasStaticShape() || table.getDimSize(0) < 1 || frequencies.empty() ||
      table.getDimSize(1) != frequencies.size() ||
      !llvm::all_of(frequencies.asArrayRef(), [](double f) { return std::isfinite(f); }))
    return emitError() << "expected finite frequencies and a tensor of f32, one row for each "
                          "position, one column for each frequency";
  return success();
}

float AnglesAttr::at(int64_t position, int64_t pair) const {
  double angle = static_cast<double>(position) * getFrequencies()[pair];
  return static_cast<float>(getFunction() == AngleFunction::Cosine ? std::cos(angle)
                                                                   : std::sin(angle));
}

ShapedType TableOp::typeOfElements(Attribute elements) {
  return cast<ShapedType>(cast<TypedAttr>(elements).getType());
}

LogicalResult TableOp::verify() {
  ShapedType elements = typeOfElements(getElements());
  auto result = cast<RankedTensorType>(getResult().getType());
  if (elements.getElementType() != result.getElementType()) // table_c1
    return emitOpError("expected elements of ") << result.getElementType();
  bool fits = elements.getRank() == result.getRank();
  for (int64_t d = 0; fits && d < result.getRank(); ++d)
    fits = result.isDynamicDim(d) || result.getDimSize(d) == elements.getDimSize(d);
  if (!fits) // table_c2
    return emitOpError("expected elements of the result's shape, but got ") << elements;
  return success();
}

LogicalResult TableOp::verifySymbolUses(SymbolTableCollection &symbols) {
  ShapedType elements = typeOfElements(getElements());
  auto result = cast<RankedTensorType>(getResult().getType());
  for (int64_t d = 0; d < result.getRank(); ++d) {
    if (!result.isDynamicDim(d))
      continue;
    LinearSize size = *parseLinearSize(axesOf(result)[d].getValue());
    auto dim =
        symbols.lookupNearestSymbolFrom<DimOp>(*this, StringAttr::get(getContext(), size.dim));
    int64_t most = dim ? size.scale * static_cast<int64_t>(dim.getSize()) + size.offset : 0;
    if (most > elements.getDimSize(d)) // table_c3
      return emitOpError("expected elements up to the bound of '")
             << axesOf(result)[d].getValue() << "', " << most;
  }
  return success();
}
