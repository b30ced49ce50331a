// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Remarks (mlir/IR/Remarks.h) that say what became of a kernel. `attn explain` prints them; without
// an engine for remarks in the context they cost nothing.
#pragma once

#include "compiler/transforms/AttentionShape.h"
#include "mlir/IR/Operation.h"
#include <string>

namespace attn {

/// What a kernel computes, with the operations and bytes that a roofline is drawn from.
std::string describeKernel(mlir::Operation *kernel);

/// Remarks that `kernel`, alone in a function named after its layer, was tiled for a level,
/// `target`.
void remarkTiled(mlir::Operation *kernel, llvm::StringRef target, llvm::StringRef text);

/// `; 12.30 MFLOP`: the products of an attention, of so many pairs of each head; by default of all.
std::string pairWork(AttentionKernelOp op, std::optional<int64_t> pairs);

/// Why an attention is lowered as it is: what the lowerings were estimated to take, or that there
/// was no choice.
std::string describeLowering(AttentionKernelOp op, const AttentionProblem &problem,
                             AttentionLowering taken, bool isMeasured);

/// `8, 4, 2 or 1`.
std::string joinNumbers(llvm::ArrayRef<int64_t> numbers);

/// Gives the reason why `op` is computed one element at a time on a level, `target`, or on all
/// (empty).
void remarkScalar(mlir::Operation *op, llvm::StringRef target, llvm::StringRef reason);

/// How many rows a buffer of one kernel has: "197 rows", "at least 197 rows", "rows".
std::string rowsText(mlir::Value out);

} // namespace attn
