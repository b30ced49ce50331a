// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kernels, one file each for their tiling (memory -> tiled) and their vector code (tiled ->
// kernels).
#pragma once

#include "compiler/cpu/Loops.h"
#include "compiler/target/CpuTarget.h"
#include "dialect/AttnDialect.h"
#include <string>

namespace attn {

struct LinearShape;

/// Where a kernel is tiled: alone in a function, for one thread of the team.
struct TilingContext {
  const CpuTarget &target;
  mlir::Value thread, threads; ///< index
  /// Whether neighbouring workers do neighbouring units, as on a GPU, so that few units are on as
  /// many multiprocessors; a CPU's thread has a run of units.
  bool interleaves = false;

  /// body(unit) of this thread's units out of [0, units), one after the other.
  void forEachUnit(IndexBuilder index, mlir::Value units,
                   llvm::function_ref<void(mlir::Value)> body) const;
};

/// memory -> tiled: each of these functions writes loops over tile ops before `op`, leaves `op` to
/// be erased, and gives the tiles that it chose, in the words of `attn explain`. Errors are
/// reported at the op.
mlir::FailureOr<std::string> tileLinear(LinearKernelOp op, const TilingContext &context);
/// Whether a linear is computed in tile registers, which is tileLinearAmx's.
bool usesTileRegisters(LinearKernelOp op, const LinearShape &shape, const CpuTarget &target);
mlir::FailureOr<std::string> tileLinearAmx(LinearKernelOp op, const LinearShape &shape,
                                           const TilingContext &context);
mlir::FailureOr<std::string> tileRound(RoundKernelOp op, const TilingContext &context);
mlir::FailureOr<std::string> tileQuantize(QuantizeKernelOp op, const TilingContext &context);
mlir::FailureOr<std::string> tileNorm(NormKernelOp op, const TilingContext &context);
mlir::FailureOr<std::string> tileNormBytes(NormBytesKernelOp op, const TilingContext &context);
mlir::FailureOr<std::string> tileMap(MapKernelOp op, const TilingContext &context);
mlir::FailureOr<std::string> tileMean(MeanKernelOp op, const TilingContext &context);
mlir::FailureOr<std::string> tileLookup(LookupKernelOp op, const TilingContext &context);
mlir::FailureOr<std::string> tileRotary(RotaryKernelOp op, const TilingContext &context);
mlir::FailureOr<std::string> tileAttention(AttentionKernelOp op, const TilingContext &context);
mlir::FailureOr<std::string> combineParts(CombineKernelOp op, const TilingContext &context);

/// tiled -> kernels: each of these functions replaces the tile ops of its kind in `root` by vector
/// code. It fails after an error at a tile that it cannot write.
mlir::LogicalResult vectorizeLinearTiles(mlir::Operation *root, const CpuTarget &target);
mlir::LogicalResult vectorizeLinearAmxTiles(mlir::Operation *root, const CpuTarget &target);
mlir::LogicalResult vectorizeRowTiles(mlir::Operation *root, const CpuTarget &target);
mlir::LogicalResult vectorizeAttentionTiles(mlir::Operation *root, const CpuTarget &target);

} // namespace attn
