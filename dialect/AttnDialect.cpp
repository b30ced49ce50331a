// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Registration of the dialect, and the helpers for named axes.
#include "dialect/AttnDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace attn;

#include "dialect/AttnDialect.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialect/AttnAttrs.cpp.inc"
#define GET_OP_CLASSES
#include "dialect/AttnOps.cpp.inc"

void AttnDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialect/AttnAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialect/AttnOps.cpp.inc"
      >();
}

bool attn::isAxesTensor(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  auto axes = tensor ? dyn_cast_or_null<AxesAttr>(tensor.getEncoding()) : nullptr;
  return axes && axes.getNames().size() == static_cast<size_t>(tensor.getRank());
}

ArrayRef<StringAttr> attn::axesOf(Type type) {
  return cast<AxesAttr>(cast<RankedTensorType>(type).getEncoding()).getNames();
}

int64_t attn::axisIndex(Type type, StringRef name) {
  auto axes = axesOf(type);
  for (size_t d = 0; d < axes.size(); ++d)
    if (axes[d].getValue() == name)
      return d;
  return -1;
}

RankedTensorType attn::axesTensor(Type element, ArrayRef<int64_t> shape,
                                  ArrayRef<StringAttr> names) {
  return RankedTensorType::get(shape, element, AxesAttr::get(element.getContext(), names));
}

std::optional<LinearSize> attn::parseLinearSize(StringRef name) {
  LinearSize size;
  auto [term, offset] = name.split('+');
  if (!offset.empty() && offset.trim().getAsInteger(10, size.offset))
    return std::nullopt;
  term = term.trim();
  if (auto [scale, dim] = term.split('*'); !dim.empty()) {
    if (scale.trim().getAsInteger(10, size.scale))
      return std::nullopt;
    term = dim.trim();
  }
  auto isWord = [](char c) { return llvm::isAlnum(c) || c == '_'; };
  if (term.empty() || llvm::isDigit(term.front()) || !llvm::all_of(term, isWord))
    return std::nullopt;
  size.dim = term;
  return size;
}
