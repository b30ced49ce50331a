// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Types and sizes of tensors and of buffers [rows..., columns], for verifiers.
#pragma once

#include "mlir/IR/BuiltinTypes.h"

namespace attn {

/// The type of a tensor.
inline mlir::RankedTensorType tensorOf(mlir::Value tensor) {
  return llvm::cast<mlir::RankedTensorType>(tensor.getType());
}

/// The type of a buffer.
inline mlir::MemRefType typeOf(mlir::Value buffer) {
  return llvm::cast<mlir::MemRefType>(buffer.getType());
}

/// Whether two sizes can be the same, as far as is known.
inline bool agree(int64_t a, int64_t b) {
  return a == b || mlir::ShapedType::isDynamic(a) || mlir::ShapedType::isDynamic(b);
}

/// The size of the last dim.
inline int64_t columnsOf(mlir::Value buffer) { return typeOf(buffer).getShape().back(); }

/// The product of sizes, dynamic if one of them is.
inline int64_t product(llvm::ArrayRef<int64_t> sizes) {
  int64_t result = 1;
  for (int64_t size : sizes) {
    if (mlir::ShapedType::isDynamic(size))
      return mlir::ShapedType::kDynamic;
    result *= size;
  }
  return result;
}

/// How many rows there are before the last `trailing` dims, dynamic if that is not known.
inline int64_t rowsOf(mlir::Value buffer, int64_t trailing = 1) {
  return product(typeOf(buffer).getShape().drop_back(trailing));
}

} // namespace attn
