// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn.pad and attn.windows: verification.
#include "dialect/AttnDialect.h"

using namespace mlir;
using namespace attn;

/// The size of an axis: a constant, or linear in a dim. Nothing where a name cannot be read.
static std::optional<LinearSize> sizeOf(RankedTensorType type, int64_t axis) {
  if (!type.isDynamicDim(axis))
    return LinearSize{"", 0, type.getDimSize(axis)};
  return parseLinearSize(axesOf(type)[axis].getValue());
}

static bool isSame(const LinearSize &a, const LinearSize &b) {
  return a.dim == b.dim && a.scale == b.scale && a.offset == b.offset;
}

LogicalResult PadOp::verify() {
  auto input = cast<RankedTensorType>(getInput().getType()),
       result = cast<RankedTensorType>(getResult().getType());
  int64_t rank = input.getRank();
  if (result.getRank() != rank || static_cast<int64_t>(getLow().size()) != rank ||
      static_cast<int64_t>(getHigh().size()) != rank) // pad_c1
    return emitOpError("expected a border and an axis of the result for each of ") << input;
  if (!input.getElementType().isF32() || !result.getElementType().isF32()) // pad_c2
    return emitOpError("expected elements of f32, but got ") << input;
  for (int64_t d = 0; d < rank; ++d) {
    if (getLow()[d] < 0 || getHigh()[d] < 0 || getLow()[d] > maxElements ||
        getHigh()[d] > maxElements) // pad_c3
      return emitOpError("expected borders of 0 elements at least, but got ")
             << getLow()[d] << " and " << getHigh()[d];
    auto from = sizeOf(input, d), to = sizeOf(result, d);
    if (from)
      from->offset += getLow()[d] + getHigh()[d];
    if (!from || !to || !isSame(*from, *to)) // pad_c4
      return emitOpError("expected axis ")
             << d << " to be longer by its border, but got " << result;
  }
  return success();
}

/// Whether axis `axis` of the result is as many windows as fit into that of the input.
static bool isCountOfWindows(WindowsOp op, int64_t axis, int64_t stride, int64_t span) {
  auto from = sizeOf(cast<RankedTensorType>(op.getInput().getType()), axis),
       to = sizeOf(cast<RankedTensorType>(op.getResult().getType()), axis);
  if (!from || !to || from->dim != to->dim || from->scale != to->scale * stride)
    return false;
  // floor((scale * dim + offset - span) / stride) + 1, with `stride` a divisor of the scale.
  int64_t rest = from->offset - span;
  int64_t whole = rest >= 0 ? rest / stride : -((-rest + stride - 1) / stride);
  return to->offset == whole + 1;
}

LogicalResult WindowsOp::verify() {
  auto input = cast<RankedTensorType>(getInput().getType()),
       result = cast<RankedTensorType>(getResult().getType());
  int64_t rank = input.getRank(), count = getAxes().size();
  if (static_cast<int64_t>(getStrides().size()) != count ||
      static_cast<int64_t>(getDilations().size()) != count || result.getRank() != rank + count ||
      input.getElementType() != result.getElementType()) // windows_c1
    return emitOpError("expected a stride, a dilation and an axis of the result for each of ")
           << count << " axes, but got " << result;
  for (int64_t d = 0; d < rank; ++d) {
    auto at = llvm::find(getAxes(), d);
    if (llvm::count(getAxes(), d) > 1) // windows_c2
      return emitOpError("expected every axis once, but got ") << d;
    if (at == getAxes().end() && input.getDimSize(d) != result.getDimSize(d)) // windows_c3
      return emitOpError("expected the other axes unchanged, but got ") << result;
  }
  for (int64_t i = 0; i < count; ++i) {
    int64_t axis = getAxes()[i], stride = getStrides()[i], dilation = getDilations()[i];
    if (axis < 0 || axis >= rank) // windows_c2
      return emitOpError("expected axes of ") << input << ", but got " << axis;
    int64_t places = result.getDimSize(rank + i);
    if (stride < 1 || dilation < 1 || places < 1 || stride > maxElements ||
        !countElements({dilation, places})) // windows_c4
      return emitOpError("expected static windows, strides and dilations of 1 at least");
    if (!isCountOfWindows(*this, axis, stride, (places - 1) * dilation + 1)) // windows_c5
      return emitOpError("expected as many windows as fit into axis ")
             << axis << ", but got " << result;
  }
  return success();
}
