// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Attention on a GPU: by a warp on FMA units, by a block on tensor cores, by Hopper's warp groups.
#pragma once

#include "compiler/gpu/threads/KernelLaunch.h"
#include "compiler/kernels/ScoreFunction.h"
#include "dialect/AttnDialect.h"

namespace attn {

/// The launch of an attention by the kernel that suits it; and of what combines parts of keys.
KernelLaunches launchesOf(AttentionKernelOp op, const LaunchOptions &options);
KernelLaunches launchesOf(CombineKernelOp op);

/// Drops the parts of attentions that have queries enough to fill a GPU, and what combines them.
void dropParts(mlir::Operation *root, const GpuTarget &target);

/// Writes the code of what bounds boxes of tensors; every thread of a warp meets it.
void lowerRanges(mlir::Operation *root);

/// Why an attention is none for tensor cores; empty where it is one.
llvm::StringRef obstacleToTensorCores(AttentionKernelOp op);
/// Whether an attention is one for tensor cores: its worker is a block then.
inline bool usesTensorCores(AttentionKernelOp op) { return obstacleToTensorCores(op).empty(); }
/// The 16 bits that its products are of, or null.
mlir::Type halfOf(AttentionKernelOp op);

/// Writes the code of a block on tensor cores before the op.
void emitBlockAttention(AttentionKernelOp op, const ScoreFunction &score,
                        const TilingContext &context);
/// Hopper's own kernel: whether there is one for an op, its launch, and its code.
bool isHopperAttention(AttentionKernelOp op);
KernelLaunch launchHopperAttention(AttentionKernelOp op);
void emitHopperAttention(AttentionKernelOp op, const ScoreFunction &score,
                         const TilingContext &context, mlir::ValueRange maps);

/// Part number `part` of the keys that all queries have: those in [from, to).
struct PartOfKeys {
  mlir::Value part, from, to;
};
/// The output of query number `query`, of all heads, by a warp on FMA units; where keys are in
/// parts, what one of them adds.
void emitQueryOfWarp(AttentionKernelOp op, const ScoreFunction &score, mlir::OpBuilder &builder,
                     mlir::Value query, std::optional<PartOfKeys> keys = {});

} // namespace attn
