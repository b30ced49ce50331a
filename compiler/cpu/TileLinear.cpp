// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/cpu/Kernels.h"

using namespace mlir;
using namespace attn;

LogicalResult attn::tileLinear(LinearKernelOp op, const TilingContext &context) {
  return op.emitError("not tiled yet");
}
