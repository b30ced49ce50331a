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

/// The size of an axis where all that is known only when running is 1, the least it may be; `dim`
/// becomes what that is.
static int64_t leastSize(RankedTensorType type, int64_t axis, StringRef &dim) {
  if (!type.isDynamicDim(axis))
    return type.getDimSize(axis);
  LinearSize size = parseLinearSize(axesOf(type)[axis].getValue()).value_or(LinearSize());
  dim = size.dim;
  return size.scale + size.offset;
}

LogicalResult SliceOp::verify() {
  auto input = cast<RankedTensorType>(getInput().getType()),
       result = cast<RankedTensorType>(getResult().getType());
  int64_t axis = getAxis(), offset = getOffset();
  bool isAxis = axis >= 0 && axis < input.getRank(), isDynamic = isAxis && input.isDynamicDim(axis);
  if (!isAxis || (getEnd() && !isDynamic)) // slice_c1
    return emitOpError("expected an axis of ")
           << input << (getEnd() ? " that is dynamic" : "") << ", but got " << axis;
  if (result.getRank() != input.getRank() - (getDrop() ? 1 : 0)) // slice_c2
    return emitOpError("expected a result of rank ")
           << input.getRank() - (getDrop() ? 1 : 0) << ", but got " << result;
  if (getEnd() && offset != 0) // slice_c5
    return emitOpError("expected no offset from the end of an axis, but got ") << offset;
  StringRef dim, taken;
  int64_t most = leastSize(input, axis, dim), size = getDrop() ? 1 : leastSize(result, axis, taken);
  bool isInside =
      offset >= 0 && size >= 1 && offset <= most - size && (taken.empty() || taken == dim);
  if (!isInside && !getEnd()) // slice_c3; of the end, who builds it has shown it
    return emitOpError("expected elements within ")
           << most << ", but got " << size << " at " << offset;
  SmallVector<int64_t> rest =
      getDrop() ? SmallVector<int64_t>(result.getShape()) : without(result.getShape(), axis);
  if (rest != without(input.getShape(), axis)) // slice_c4
    return emitOpError("expected the other axes unchanged, but got ") << result;
  return success();
}
