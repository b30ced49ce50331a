// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn.rotary: pairs of features turned by angles.
#include "dialect/AttnDialect.h"

using namespace mlir;
using namespace attn;

LogicalResult RotaryOp::verify() {
  auto input = cast<RankedTensorType>(getInput().getType()),
       cos = cast<RankedTensorType>(getCos().getType());
  int64_t last = input.getRank() - 1;
  if (last < 0 || input.isDynamicDim(last)) // rotary_c1
    return emitOpError("expected a last axis of a static size");
  if (cos.getRank() < 1 || cos.isDynamicDim(cos.getRank() - 1) || cos.getShape().back() < 1 ||
      cos.getShape().back() > input.getDimSize(last) / 2) // rotary_c2
    return emitOpError("expected angles for at most ")
           << input.getDimSize(last) / 2 << " pairs, but got " << cos;
  for (int64_t d = 0; d + 1 < cos.getRank(); ++d) {
    int64_t at = axisIndex(input, axesOf(cos)[d]);
    if (at < 0 || at == last || input.getDimSize(at) != cos.getDimSize(d)) // rotary_c3
      return emitOpError("expected angles along axes of the input, but got ") << cos;
  }
  if (!input.getElementType().isF32() || !cos.getElementType().isF32()) // rotary_c4
    return emitOpError("expected elements of f32");
  return success();
}

bool RotaryOp::writesHalves(bool mapsToo) { return true; }

int64_t RotaryOp::flopPerElement() { return 3; } // four products and two sums for two elements
