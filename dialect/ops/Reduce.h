// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is reduced, for verifiers of the op and of its kernel.
#pragma once

#include "mlir/IR/Operation.h"

namespace attn {

/// Whether `body` takes an f32 for each input and yields one; where there is none, there is one
/// input. An error is reported at `op`.
mlir::LogicalResult verifyReduced(mlir::Operation *op, mlir::ValueRange inputs, mlir::Region &body);

} // namespace attn
