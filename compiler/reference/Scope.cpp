// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sizes of axes at run time, and errors with a place.
#include "compiler/reference/Scope.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace attn;
using namespace attn::reference;

llvm::Error attn::reference::errorAt(Operation *op, const Twine &message) {
  std::string text;
  llvm::raw_string_ostream(text) << op->getLoc() << ": " << op->getName() << ": " << message;
  return llvm::createStringError(text);
}

llvm::Expected<int64_t> attn::reference::sizeOfAxis(Operation *op, RankedTensorType type,
                                                    int64_t axis, const DimSizes &dims) {
  if (!type.isDynamicDim(axis))
    return type.getDimSize(axis);
  StringRef name = axesOf(type)[axis].getValue();
  auto linear = parseLinearSize(name);
  auto dim = linear ? dims.find(linear->dim) : dims.end();
  if (dim == dims.end())
    return errorAt(op, "expected a size for axis '" + name + "', but no input has it");
  return linear->scale * dim->second + linear->offset;
}

llvm::Expected<SmallVector<int64_t>> attn::reference::shapeFromNames(Operation *op,
                                                                     RankedTensorType result,
                                                                     ValueRange inputs,
                                                                     const Scope &scope) {
  SmallVector<int64_t> shape;
  for (auto [d, name] : llvm::enumerate(axesOf(result))) {
    int64_t size = ShapedType::kDynamic;
    for (Value input : inputs)
      if (int64_t i = axisIndex(input.getType(), name); i >= 0)
        size = scope.tensor(input).shape[i];
    if (ShapedType::isDynamic(size) || !result.isDynamicDim(d)) {
      auto named = sizeOfAxis(op, result, d, scope.dims);
      if (!named)
        return named.takeError();
      size = *named;
    }
    shape.push_back(size);
  }
  return shape;
}

SmallVector<int64_t> attn::reference::stridesAlong(RankedTensorType result, Type from,
                                                   const Tensor &value) {
  SmallVector<int64_t> own = denseStrides(value.shape), strides;
  for (StringAttr name : axesOf(result)) {
    int64_t i = axisIndex(from, name);
    strides.push_back(i < 0 ? 0 : own[i]);
  }
  return strides;
}
