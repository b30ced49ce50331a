// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Ops of one step of a scan -> the same ops of all steps.
#pragma once

#include "dialect/AttnDialect.h"

namespace attn {

/// `tensor` with an axis, which it has, as the first.
mlir::Value withAxisInFront(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value tensor,
                            llvm::StringRef axis);

/// The op of a scan's body that computes for all steps, with their axis in front, what `op` does
/// for one; null where there is none. `whole` gives an operand of all steps, or as it is where it
/// is the same in all of them.
mlir::Value liftOverSteps(mlir::OpBuilder &builder, mlir::Operation *op, ScanOp scan,
                          llvm::function_ref<mlir::Value(mlir::Value)> whole);

} // namespace attn
