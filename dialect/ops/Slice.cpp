// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn.slice: verification.
#include "dialect/AttnDialect.h"

using namespace mlir;
using namespace attn;

/// The input's shape without axis `axis`.
static SmallVector<int64_t> without(ArrayRef<int64_t> shape, int64_t axis) {
  SmallVector<int64_t> rest(shape);
  rest.erase(rest.begin() + axis);
  return rest;
}

LogicalResult SliceOp::verify() {
  auto input = cast<RankedTensorType>(getInput().getType()),
       result = cast<RankedTensorType>(getResult().getType());
  int64_t axis = getAxis(), offset = getOffset();
  bool isAxis = axis >= 0 && axis < input.getRank(), isDynamic = isAxis && input.isDynamicDim(axis);
  if (!isAxis || (getEnd() && !isDynamic) || (isDynamic && !getEnd() && !getDrop())) // slice_c1
    return emitOpError("expected a static axis of ")
           << input << ", or one element or the end of a dynamic one, but got " << axis;
  if (result.getRank() != input.getRank() - (getDrop() ? 1 : 0)) // slice_c2
    return emitOpError("expected a result of rank ")
           << input.getRank() - (getDrop() ? 1 : 0) << ", but got " << result;
  int64_t size = getDrop() ? 1 : result.getDimSize(axis);
  if (isDynamic && offset != 0) // slice_c5
    return emitOpError("expected no offset along a dynamic axis, but got ") << offset;
  if (!isDynamic && (offset < 0 || size < 1 || offset > input.getDimSize(axis) - size)) // slice_c3
    return emitOpError("expected elements within ")
           << input.getDimSize(axis) << ", but got " << size << " at " << offset;
  SmallVector<int64_t> rest =
      getDrop() ? SmallVector<int64_t>(result.getShape()) : without(result.getShape(), axis);
  if (rest != without(input.getShape(), axis)) // slice_c4
    return emitOpError("expected the other axes unchanged, but got ") << result;
  return success();
}
