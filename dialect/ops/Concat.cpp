// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn.concat: verification.
#include "dialect/AttnDialect.h"

using namespace mlir;
using namespace attn;

LogicalResult ConcatOp::verify() {
  auto result = cast<RankedTensorType>(getResult().getType());
  int64_t axis = getAxis(), total = 0;
  if (axis < 0 || axis >= result.getRank()) // concat_c1
    return emitOpError("expected an axis below ") << result.getRank() << ", but got " << axis;
  if (getInputs().empty() || getAlong().size() != getInputs().size()) // concat_c2
    return emitOpError("expected one 'along' for each of ")
           << getInputs().size() << " inputs, but got " << getAlong().size();
  if (!hasDistinctAxes(result)) // concat_c4
    return emitOpError("expected every axis once, but got ") << result;
  for (auto [input, along] : llvm::zip(getInputs(), getAlong())) {
    auto type = cast<RankedTensorType>(input.getType());
    if (along < 0 || along >= type.getRank() || type.isDynamicDim(along)) // concat_c3
      return emitOpError("expected a static axis of ") << type << ", but got " << along;
    total += type.getDimSize(along);
    for (int64_t d = 0; d < type.getRank(); ++d) {
      int64_t r = axisIndex(result, axesOf(type)[d]);
      if (d != along &&
          (r < 0 || r == axis || result.getDimSize(r) != type.getDimSize(d))) // concat_c4
        return emitOpError("expected the other axes to be the result's, but got ")
               << axesOf(type)[d] << " of " << type;
    }
  }
  if (result.getDimSize(axis) != total) // concat_c5
    return emitOpError("expected a size of ")
           << total << " along the axis, but got " << result.getDimSize(axis);
  return success();
}
