// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arithmetic of 32 bits and loops that count by it, which a GPU has registers and units for:
// indices are of 64.
#pragma once

#include "mlir/IR/Builders.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

namespace attn {

/// Emits instructions at the builder's insertion point, folded where operands are constants.
class Integers {
public:
  Integers(mlir::OpBuilder &builder, mlir::Location loc) : builder(builder), loc(loc) {}

  /// Constants and arithmetic on i32.
  mlir::Value constant(int64_t value) const;
  mlir::Value add(mlir::Value a, mlir::Value b) const;
  mlir::Value add(mlir::Value a, int64_t b) const { return add(a, constant(b)); }
  mlir::Value sub(mlir::Value a, mlir::Value b) const;
  mlir::Value mul(mlir::Value a, mlir::Value b) const;
  mlir::Value mul(mlir::Value a, int64_t b) const { return mul(a, constant(b)); }
  /// Unsigned quotient and remainder; shifts where the divisor is a power of two.
  mlir::Value div(mlir::Value a, mlir::Value b) const;
  mlir::Value div(mlir::Value a, int64_t b) const { return div(a, constant(b)); }
  mlir::Value rem(mlir::Value a, mlir::Value b) const;
  mlir::Value rem(mlir::Value a, int64_t b) const { return rem(a, constant(b)); }
  mlir::Value min(mlir::Value a, mlir::Value b) const; ///< unsigned
  mlir::Value bitXor(mlir::Value a, mlir::Value b) const;
  mlir::Value bitXor(mlir::Value a, int64_t b) const { return bitXor(a, constant(b)); }
  mlir::Value equals(mlir::Value a, int64_t b) const;
  mlir::Value below(mlir::Value a, mlir::Value b) const; ///< unsigned
  mlir::Value below(mlir::Value a, int64_t b) const { return below(a, constant(b)); }
  mlir::Value select(mlir::Value condition, mlir::Value a, mlir::Value b) const;
  mlir::Value fromIndex(mlir::Value index) const;
  mlir::Value toIndex(mlir::Value value) const;

  /// for (i = from; i < to; i += step), carrying values; i is of 32 bits.
  llvm::SmallVector<mlir::Value> loop(
      mlir::Value from, mlir::Value to, mlir::Value step, mlir::ValueRange inits,
      llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value, mlir::ValueRange)> body) const;
  /// if (condition) yes() else no(), or one of both where it is known which.
  void when(mlir::Value condition, llvm::function_ref<void()> yes,
            llvm::function_ref<void()> no = {}) const;

  mlir::OpBuilder &builder;
  mlir::Location loc;
};

} // namespace attn
