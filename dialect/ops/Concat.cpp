// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn.concat: verification.
#include "dialect/AttnDialect.h"

using namespace mlir;
using namespace attn;

/// The size of an axis; nothing where its name does not say it.
static std::optional<LinearSize> sizeAlong(RankedTensorType type, int64_t axis) {
  if (type.isDynamicDim(axis))
    return parseLinearSize(axesOf(type)[axis].getValue());
  return LinearSize{"", 0, type.getDimSize(axis)};
}

LogicalResult ConcatOp::verify() {
  auto result = cast<RankedTensorType>(getResult().getType());
  int64_t axis = getAxis();
  LinearSize total{"", 0, 0};
  if (axis < 0 || axis >= result.getRank()) // concat_c1
    return emitOpError("expected an axis below ") << result.getRank() << ", but got " << axis;
  if (getInputs().empty() || getAlong().size() != getInputs().size()) // concat_c2
    return emitOpError("expected one 'along' for each of ")
           << getInputs().size() << " inputs, but got " << getAlong().size();
  if (!hasDistinctAxes(result)) // concat_c4
    return emitOpError("expected every axis once, but got ") << result;
  for (auto [input, along] : llvm::zip(getInputs(), getAlong())) {
    auto type = cast<RankedTensorType>(input.getType());
    auto size = along < 0 || along >= type.getRank() ? std::nullopt : sizeAlong(type, along);
    if (!size || (!total.dim.empty() && !size->dim.empty() && total.dim != size->dim)) // concat_c3
      return emitOpError("expected an axis of ")
             << type << " that is static or linear in one dim, but got " << along;
    total.dim = size->dim.empty() ? total.dim : size->dim;
    total.scale += size->scale;
    total.offset += size->offset;
    for (int64_t d = 0; d < type.getRank(); ++d) {
      int64_t r = axisIndex(result, axesOf(type)[d]);
      if (d != along &&
          (r < 0 || r == axis || result.getDimSize(r) != type.getDimSize(d))) // concat_c4
        return emitOpError("expected the other axes to be the result's, but got ")
               << axesOf(type)[d] << " of " << type;
    }
  }
  auto size = sizeAlong(result, axis);
  if (!size || size->dim != total.dim || size->scale != total.scale ||
      size->offset != total.offset) { // concat_c5
    InFlightDiagnostic diagnostic = emitOpError("expected a size of ");
    if (!total.dim.empty())
      diagnostic << total.scale << " * " << total.dim << " + ";
    return diagnostic << total.offset << " along the axis, but got " << result;
  }
  return success();
}
