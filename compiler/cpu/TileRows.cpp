// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/cpu/Kernels.h"

using namespace mlir;
using namespace attn;

LogicalResult attn::tileNorm(NormKernelOp op, const TilingContext &context) {
  return op.emitError("not tiled yet");
}

LogicalResult attn::tileMap(MapKernelOp op, const TilingContext &context) {
  return op.emitError("not tiled yet");
}

LogicalResult attn::tileMean(MeanKernelOp op, const TilingContext &context) {
  return op.emitError("not tiled yet");
}
