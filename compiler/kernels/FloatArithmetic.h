// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arithmetic on floats, which kernels of CPUs and of GPUs are written with.
#pragma once

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"

namespace attn {

/// Arithmetic on floats of one type, numbers or vectors of them, at the builder's insertion point.
/// Every operation rounds once.
class FloatArithmetic {
public:
  using Value = mlir::Value;

  FloatArithmetic(mlir::OpBuilder &builder, mlir::Location loc) : builder(builder), loc(loc) {}

  /// Sums, differences, products and quotients.
  Value add(Value a, Value b) const;
  Value sub(Value a, Value b) const;
  Value mul(Value a, Value b) const;
  Value div(Value a, Value b) const;
  /// a * b + c
  Value fma(Value a, Value b, Value c) const;
  /// Functions of one number.
  Value neg(Value a) const;
  Value abs(Value a) const;
  Value sqrt(Value a) const;
  Value exp(Value a) const;
  Value roundEven(Value a) const;
  Value roundDown(Value a) const;
  /// The larger or the smaller of two; NaN where one of both is NaN.
  Value larger(Value a, Value b) const;
  Value smaller(Value a, Value b) const;
  /// Compares, and picks lane by lane.
  Value compare(mlir::arith::CmpFPredicate predicate, Value a, Value b) const;
  Value select(Value condition, Value a, Value b) const;

  mlir::OpBuilder &builder;
  mlir::Location loc;
};

} // namespace attn
