// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a norm does with a normalised element, at vector width on a CPU, one by one on a GPU.
#pragma once

#include "dialect/AttnDialect.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace attn {

/// normalised * (offset + weight) + bias, at the builder's insertion point. `load(row)` reads the
/// same place of a row of weights or biases, as what `normalised` is: f32, or a vector of it.
mlir::Value scaleAndShift(mlir::OpBuilder &builder, NormRowOp op, mlir::Value normalised,
                          llvm::function_ref<mlir::Value(mlir::Value row)> load);

} // namespace attn
