// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where a kernel is tiled for a CPU: alone in a function, for one thread of the team
// and some pieces of the work.
#pragma once

#include "compiler/kernels/Tiling.h"
#include "compiler/target/CpuTarget.h"

namespace attn {

/// Who computes a kernel, and for which level.
struct CpuTiling : TilingContext {
  CpuTiling(const CpuTarget &target, mlir::Value thread, mlir::Value threads, const Pieces &pieces)
      : TilingContext{target, thread, threads, /*interleaves=*/false, pieces}, target(target) {}

  const CpuTarget &target; ///< the level that code is generated for
};

} // namespace attn
