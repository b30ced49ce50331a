// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels on rows on a GPU: a warp has rows, or pieces of them.
#pragma once

#include "compiler/gpu/threads/KernelLaunch.h"
#include "dialect/Choices.h"

namespace attn {

/// The one launch of a kernel on rows.
KernelLaunches launchesOfRows(mlir::Operation *kernel);

/// Write the code of one tile before it, in which a builder stands.
void emitWarpRow(ReduceRowOp op, mlir::OpBuilder &builder);
void emitWarpRow(SoftmaxRowOp op, mlir::OpBuilder &builder);
void emitWarpRow(TopkRowOp op, mlir::OpBuilder &builder);

} // namespace attn
