// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels on rows on a GPU: a warp has rows, or pieces of them.
#pragma once

#include "compiler/gpu/threads/KernelLaunch.h"
#include "dialect/Choices.h"

namespace attn {

/// The one launch of a kernel on rows.
KernelLaunches launchesOfRows(mlir::Operation *kernel);

/// Writes the code of a sort by expert before it; a context's threads are warps.
void emitWarpGroup(GroupKernelOp op, const TilingContext &context);

/// Write the code of one tile before it, in which a builder stands. Other tiles have formulas that
/// CPUs share (compiler/kernels/rows).
void emitWarpRow(QuantizeRowOp op, mlir::OpBuilder &builder);
void emitWarpRow(TopkRowOp op, mlir::OpBuilder &builder);

} // namespace attn
