// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn.layernorm: verification.
#include "dialect/AttnDialect.h"

using namespace mlir;
using namespace attn;

LogicalResult LayerNormOp::verify() {
  auto input = cast<RankedTensorType>(getInput().getType());
  auto gamma = cast<RankedTensorType>(getGamma().getType());
  if (gamma.getRank() < 1 || gamma.getRank() > input.getRank() ||
      gamma.getShape() != input.getShape().take_back(gamma.getRank())) // layernorm_c1
    return emitOpError("expected gamma over the last axes of ") << input << ", but got " << gamma;
  if (gamma != getBeta().getType()) // layernorm_c2
    return emitOpError("expected beta like gamma, ")
           << gamma << ", but got " << getBeta().getType();
  if (!(getEps().convertToDouble() >= 0)) // layernorm_c3
    return emitOpError("expected eps of at least 0, but got ") << getEps().convertToDouble();
  return success();
}

bool LayerNormOp::writesHalves(bool onGpu) { return true; }
