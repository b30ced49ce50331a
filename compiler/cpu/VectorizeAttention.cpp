// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/cpu/Kernels.h"

using namespace mlir;
using namespace attn;

LogicalResult attn::vectorizeAttentionTiles(Operation *root, const CpuTarget &target) {
  return success();
}
