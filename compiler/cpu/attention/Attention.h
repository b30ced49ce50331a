// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention on a CPU: memory -> tiled (TileAttention.cpp, CombineParts.cpp) and tiled -> kernels
// (VectorizeAttention.cpp).
#pragma once

#include "compiler/cpu/vectors/CpuTiling.h"
#include "dialect/AttnDialect.h"
#include <string>

namespace attn {

/// Checks that every thread has so many floats of scratch; an error, where the memory was planned
/// for another kernel.
mlir::LogicalResult checkScratch(AttentionKernelOp op, int64_t floats);

/// Writes loops over tile ops before `op`, leaves `op` to be erased, and says which tiles it chose.
/// Errors are reported at the op.
mlir::FailureOr<std::string> tileAttention(AttentionKernelOp op, const CpuTiling &context);
mlir::FailureOr<std::string> combineParts(CombineKernelOp op, const CpuTiling &context);

/// Replaces the tiles of attentions in `root` by vector code.
mlir::LogicalResult vectorizeAttentionTiles(mlir::Operation *root, const CpuTarget &target);

} // namespace attn
