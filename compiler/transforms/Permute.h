// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors with their axes in another order.
#pragma once

#include "dialect/AttnDialect.h"
#include "mlir/IR/Builders.h"

namespace attn {

/// The type with axis `order[d]` at place d. An order may leave axes out.
mlir::RankedTensorType permuted(mlir::RankedTensorType type, llvm::ArrayRef<int64_t> order);

/// The tensor with axis `order[d]` at place d, for all of them; itself where they stand so already.
mlir::Value permuted(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value tensor,
                     llvm::ArrayRef<int64_t> order);

} // namespace attn
