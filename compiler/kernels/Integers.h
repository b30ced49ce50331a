// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arithmetic of 32 bits and loops that count by it, which a GPU has registers and units for:
// indices are of 64.
#pragma once

#include "compiler/kernels/Loops.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"

namespace attn {

/// Arithmetic on i32, of two values or of one and a constant.
class Integers : public IntegerArithmetic {
public:
  using IntegerArithmetic::add, IntegerArithmetic::div, IntegerArithmetic::mul,
      IntegerArithmetic::rem;
  using IntegerArithmetic::IntegerArithmetic;

  /// A constant, and arithmetic with one.
  mlir::Value constant(int64_t value) const;
  mlir::Value add(mlir::Value a, int64_t b) const { return add(a, constant(b)); }
  mlir::Value mul(mlir::Value a, int64_t b) const { return mul(a, constant(b)); }
  mlir::Value div(mlir::Value a, int64_t b) const { return div(a, constant(b)); }
  mlir::Value rem(mlir::Value a, int64_t b) const { return rem(a, constant(b)); }
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
};

} // namespace attn
