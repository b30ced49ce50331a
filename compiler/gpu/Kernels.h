// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels of the `memory` stage as the code of one GPU thread. They are divided among workers,
// warps or blocks of threads, as on a CPU among threads.
#pragma once

#include "compiler/cpu/Kernels.h"
#include "compiler/cpu/ScoreFunction.h"
#include "compiler/gpu/KernelLaunch.h"
#include "compiler/target/GpuTarget.h"

namespace attn {

/// Threads of a block.
constexpr int64_t blockThreads = 128;

/// What shared parts of code generation take for one lane.
inline const CpuTarget gpuLane = [] {
  CpuTarget lane;
  lane.name = "gpu";
  lane.registers = 255;
  lane.gpu = lane.roundsBfloat = true;
  return lane;
}();

/// Whether an attention is one for tensor cores: its worker is a block then.
bool usesTensorCores(AttentionKernelOp op);
/// The 16 bits that its products are of, or null.
mlir::Type halfOf(AttentionKernelOp op);

struct LinearShape;

/// Who divides a kernel's work.
enum class WorkerKind { Warp, Block };

/// Of an op that is a kernel; nothing where it has no code on a GPU.
std::optional<WorkerKind> workerKindOf(mlir::Operation *kernel);

/// An f32 as an element of a buffer, which may be of 16 bits.
void storeFloat(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, mlir::Value buffer,
                mlir::ValueRange place);

// Each writes the code of a kernel before `op`, in a gpu.func, and leaves it to be erased. A
// context's threads are the workers. Errors are reported at the op.
mlir::LogicalResult emitRowKernel(mlir::Operation *op, const TilingContext &context);
mlir::LogicalResult emitLinear(LinearKernelOp op, const TilingContext &context,
                               const KernelLaunch &launch);
/// The launches of a linear by portable instructions: large tiles, or smaller ones where these
/// would leave multiprocessors idle. Their conditions are computed in the host's function, before
/// the op.
mlir::FailureOr<llvm::SmallVector<KernelLaunch>> launchLinear(LinearKernelOp op,
                                                              int64_t multiprocessors, bool tf32);
/// By FMA units, of f32; and by tensor cores, f32 rounded to tf32.
void emitFmaLinear(LinearKernelOp op, const LinearShape &shape, const TilingContext &context,
                   TileSize size);
void emitTensorCoreLinear(LinearKernelOp op, const LinearShape &shape, const TilingContext &context,
                          TileSize size);
/// By the kernel that suits the op; Hopper's where there are tensor maps.
mlir::LogicalResult emitAttention(AttentionKernelOp op, const TilingContext &context,
                                  mlir::ValueRange maps);

/// Part number `part` of the keys that all queries have: those in [from, to).
struct PartOfKeys {
  mlir::Value part, from, to;
};
/// The output of query number `query`, of all heads, by a warp on FMA units; where keys are in
/// parts, what one of them adds.
void emitQueryOfWarp(AttentionKernelOp op, const ScoreFunction &score, mlir::OpBuilder &builder,
                     mlir::Value query, std::optional<PartOfKeys> keys = {});
void emitCombine(CombineKernelOp op, const TilingContext &context);

/// Drops the parts of attentions that have queries enough to fill a GPU, and what combines them.
void dropParts(mlir::Operation *root, const GpuTarget &target);
void emitBlockAttention(AttentionKernelOp op, const ScoreFunction &score,
                        const TilingContext &context);

/// The launches of a linear that has few rows, each with the number of rows for its condition; none
/// where there are always more.
mlir::FailureOr<llvm::SmallVector<KernelLaunch>> launchFewRowsLinear(LinearKernelOp op,
                                                                     int64_t multiprocessors);
/// `isTurned`: panels are turned (GpuTarget::hasWarpGroups).
mlir::LogicalResult emitFewRowsLinear(LinearKernelOp op, const TilingContext &context,
                                      const FewRowsTile &tile, bool isTurned);

// Of rows of bytes: whether a linear has these, its launch, its code.
bool isByteLinear(LinearKernelOp op);
mlir::FailureOr<KernelLaunch> launchByteLinear(LinearKernelOp op);
mlir::LogicalResult emitByteLinear(LinearKernelOp op, const TilingContext &context);

// Kernels of Hopper's own: whether there is one for an op; its launches, with the ops that compute
// tensor maps and conditions in the host's function, before the op; and the code of one, where
// `maps` are its arguments.
bool isHopperLinear(LinearKernelOp op);
mlir::FailureOr<llvm::SmallVector<KernelLaunch>>
launchHopperLinear(LinearKernelOp op, int64_t multiprocessors, bool bulkStores);
bool isHopperAttention(AttentionKernelOp op);
KernelLaunch launchHopperAttention(AttentionKernelOp op);
void emitHopperAttention(AttentionKernelOp op, const ScoreFunction &score,
                         const TilingContext &context, mlir::ValueRange maps);
void emitHopperLinear(LinearKernelOp op, const HopperLinearTile &tile, int64_t multiprocessors,
                      const TilingContext &context, mlir::ValueRange maps);

/// Writes the code of what bounds boxes of tensors; every thread of a warp meets it.
void lowerRanges(mlir::Operation *root);

} // namespace attn
