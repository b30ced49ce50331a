// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Linears on a GPU, by the kernels that suit their rows, precision and chip (LinearLaunches.cpp
// says which).
#pragma once

#include "compiler/gpu/linear/FewRowsTile.h"
#include "compiler/gpu/linear/HopperLinearTile.h"
#include "compiler/gpu/threads/KernelLaunch.h"
#include "dialect/AttnDialect.h"

namespace attn {

/// The launches of a linear, with the ops that compute tensor maps and conditions in the host's
/// function, before the op.
KernelLaunches launchesOf(LinearKernelOp op, const LaunchOptions &options);

// Of the kernels, one each; `op` as above.

/// Few rows; none where there are always more.
KernelLaunches launchFewRowsLinear(LinearKernelOp op, const LaunchOptions &options);
/// `isTransposed`: panels are transposed (GpuTarget::hasWarpGroups).
mlir::LogicalResult emitFewRowsLinear(LinearKernelOp op, const TilingContext &context,
                                      const FewRowsTile &tile, bool isTransposed);

/// Rows of bytes.
mlir::FailureOr<KernelLaunch> launchByteLinear(LinearKernelOp op);

/// Hopper's own: whether there is one for an op, and its launches.
bool isHopperLinear(LinearKernelOp op);
KernelLaunches launchHopperLinear(LinearKernelOp op, const LaunchOptions &options);

/// By portable instructions: for many rows, or for fewer than would keep all multiprocessors busy.
enum class TileSize { Large, Medium, Small };
KernelLaunches launchLinearBlocks(LinearKernelOp op, const LaunchOptions &options);
/// On FMA units, of f32; and on tensor cores, f32 rounded to tf32.
void emitFmaLinear(LinearKernelOp op, const LinearShape &shape, const TilingContext &context,
                   TileSize size);
void emitTensorCoreLinear(LinearKernelOp op, const LinearShape &shape, const TilingContext &context,
                          TileSize size);

} // namespace attn
