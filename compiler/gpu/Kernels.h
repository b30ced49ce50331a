// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels of the `memory` stage as the code of one GPU thread. They are divided among workers,
// warps or blocks of threads, as on a CPU among threads.
#pragma once

#include "compiler/cpu/Kernels.h"
#include "compiler/cpu/ScoreFunction.h"

namespace attn {

/// Threads of a block.
constexpr int64_t blockThreads = 128;

/// Whether a GPU's kernels find panels of bf16 turned (attn_abi_gpu).
inline bool turnsPanels(llvm::StringRef) { return false; }

/// Who divides a kernel's work.
enum class WorkerKind { Warp, Block };

/// Of an op that is a kernel; nothing where it has no code on a GPU.
std::optional<WorkerKind> workerKindOf(mlir::Operation *kernel);

// Each writes the code of a kernel before `op`, in a gpu.func, and leaves it to be erased. A
// context's threads are the workers. Errors are reported at the op.
mlir::LogicalResult emitRowKernel(mlir::Operation *op, const TilingContext &context);
mlir::LogicalResult emitLinear(LinearKernelOp op, const TilingContext &context);
mlir::LogicalResult emitAttention(AttentionKernelOp op, const TilingContext &context);

void emitCombine(CombineKernelOp op, const TilingContext &context);

/// Drops the parts of attentions that have queries enough to fill a GPU, and what combines them.
void dropParts(mlir::Operation *root);
/// Whether an attention is one for tensor cores: its worker is a block then.
bool usesTensorCores(AttentionKernelOp op);
void emitBlockAttention(AttentionKernelOp op, const ScoreFunction &score,
                        const TilingContext &context);

/// Writes the code of what bounds boxes of tensors; every thread of a warp meets it.
void lowerRanges(mlir::Operation *root);

} // namespace attn
