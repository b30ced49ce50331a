// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Remarks (mlir/IR/Remarks.h) that say what became of a kernel. `attn explain` prints them; without
// an engine for remarks in the context they cost nothing.
#pragma once

#include "compiler/cpu/CpuTarget.h"
#include "mlir/IR/Operation.h"
#include <string>

namespace attn {

/// What a kernel computes, with the operations and bytes that a roofline is drawn from.
std::string describeKernel(mlir::Operation *kernel);

/// That `kernel`, alone in a function named after its layer, was tiled.
void remarkTiled(mlir::Operation *kernel, const CpuTarget &target, llvm::StringRef text);

/// `8, 4, 2 or 1`.
std::string joinNumbers(llvm::ArrayRef<int64_t> numbers);

/// That `op` is computed one element at a time, and why.
void remarkScalar(mlir::Operation *op, const CpuTarget *target, llvm::StringRef reason);

/// How many rows a buffer of one kernel has: "197 rows", "at least 197 rows", "rows".
std::string rowsText(mlir::Value out);

} // namespace attn
