// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn.dim, attn.param, attn.get: the sizes and parameters of a model.
#include "dialect/AttnDialect.h"
#include "llvm/Support/CheckedArithmetic.h"

using namespace mlir;
using namespace attn;

LogicalResult DimOp::verify() {
  auto size = static_cast<int64_t>(getSize());
  if (size < 1 || size > maxElements) // dim_c1
    return emitOpError("expected a size of 1 to 2^48, but got ") << size;
  if (getCache() && !getDynamic()) // dim_c2
    return emitOpError("expected a cache's positions to be dynamic");
  return success();
}

LogicalResult ParamOp::verify() {
  auto type = cast<RankedTensorType>(getType());
  SourceAttr source = getSource();
  if (!type.hasStaticShape()) // param_c1
    return emitOpError("expected a static shape, but got ") << type;
  if (static_cast<int64_t>(source.getStrides().size()) != type.getRank()) // param_c2
    return emitOpError("expected ")
           << type.getRank() << " strides, but got " << source.getStrides().size();
  std::optional<int64_t> elements = countElements(source.getShape());
  if (!elements) // param_c3
    return emitOpError("expected a source of 0 to 2^48 elements, but got ") << source;
  int64_t first = source.getOffset(), last = first;
  for (auto [size, stride] : llvm::zip(type.getShape(), source.getStrides())) {
    int64_t &end = stride < 0 ? first : last;
    std::optional<int64_t> sum = llvm::checkedMulAdd(size - 1, stride, end);
    if (!sum) // param_c3
      return emitOpError("expected elements within the source's ")
             << *elements << ", but got a stride of " << stride;
    end = *sum;
  }
  if (first < 0 || last >= *elements) // param_c3
    return emitOpError("expected elements within the source's ")
           << *elements << ", but got element " << (first < 0 ? first : last);
  bool perLayer = source.getPattern().getValue().contains("{n");
  if (perLayer != getLayers().has_value()) // param_c4
    return emitOpError("expected 'layers' exactly where the source's name has {n}");
  if (perLayer && static_cast<int64_t>(*getLayers()) < 1) // param_c5
    return emitOpError("expected at least 1 layer, but got ") << static_cast<int64_t>(*getLayers());
  return success();
}

LogicalResult GetOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto param = symbols.lookupNearestSymbolFrom<ParamOp>(*this, getParamAttr());
  if (!param) // get_c1
    return emitOpError("expected a parameter, but got ") << getParamAttr();
  if (param.getType() != getResult().getType()) // get_c2
    return emitOpError("expected the parameter's type ")
           << param.getType() << ", but got " << getResult().getType();
  if (param.getLayers().has_value() != static_cast<bool>(getLayer())) // get_c3
    return emitOpError("expected a layer exactly where the parameter belongs to a stack");
  return success();
}

//===-- what is kept from call to call ------------------------------------------------------===//

int64_t StateOp::axis() { return axisIndex(getType(), getCache()); }

LogicalResult StateOp::verify() {
  if (axis() < 0) // state_c1
    return emitOpError("expected an axis '") << getCache() << "', but got " << getType();
  if (static_cast<int64_t>(getLayers()) < 1) // state_c2
    return emitOpError("expected at least 1 layer, but got ") << static_cast<int64_t>(getLayers());
  return success();
}

LogicalResult PushOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto state = symbols.lookupNearestSymbolFrom<StateOp>(*this, getStateAttr());
  if (!state) // push_c1
    return emitOpError("expected a state, but got ") << getStateAttr();
  auto kept = cast<RankedTensorType>(state.getType()),
       rows = cast<RankedTensorType>(getRows().getType()),
       result = cast<RankedTensorType>(getResult().getType());
  if (result.getShape() != kept.getShape() ||
      result.getElementType() != kept.getElementType()) // push_c2
    return emitOpError("expected the state's shape ") << kept << ", but got " << result;
  SmallVector<int64_t> others(rows.getShape()), keptOthers(kept.getShape());
  if (rows.getRank() == kept.getRank())
    others[state.axis()] = keptOthers[state.axis()];
  if (others != keptOthers || rows.getElementType() != kept.getElementType()) // push_c3
    return emitOpError("expected rows of ") << kept << ", but got " << rows;
  return success();
}

LogicalResult SizeOp::verifySymbolUses(SymbolTableCollection &symbols) {
  auto dim = symbols.lookupNearestSymbolFrom<DimOp>(*this, getDimAttr());
  if (!dim || !dim.getDynamic()) // size_c1
    return emitOpError("expected a dynamic dim, but got ") << getDimAttr();
  return success();
}
