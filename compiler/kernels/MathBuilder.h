// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arithmetic on vectors of one shape, as the polynomials of attn-expand-math are written.
#pragma once

#include "compiler/kernels/FloatArithmetic.h"
#include "compiler/target/VectorUnit.h"
#include "mlir/IR/BuiltinTypes.h"

namespace attn {

/// Builds arithmetic at the insertion point on vectors of the shape it is made with. Constants are
/// repeated in all lanes; floats are f32 or, after `wide`, f64, integers of the same width.
class MathBuilder : public FloatArithmetic {
public:
  MathBuilder(mlir::OpBuilder &builder, mlir::Location loc, mlir::VectorType shape,
              const VectorUnit &unit, unsigned bits = 32);

  /// The same shape with f64 elements.
  MathBuilder wide() const { return {builder, loc, floats, unit, 64}; }

  /// A constant in all lanes: a float, an integer.
  Value constant(double value) const;
  Value integer(int64_t value) const;

  /// a / b, rounded to the nearest; on a GPU 2 units of the last place off at most, and 1 <= b <
  /// 2^126.
  Value quotient(Value a, Value b) const;
  /// coefficients[0] + coefficients[1] * x + ... by Horner's rule.
  Value polynomial(Value x, llvm::ArrayRef<double> coefficients) const;

  /// The larger or smaller of a constant and x, one instruction; NaN where x is NaN.
  Value atLeast(Value x, double least) const;
  Value atMost(Value x, double most) const;

  Value bits(Value a) const;     ///< a float's bits as an integer
  Value fromBits(Value a) const; ///< the float with these bits
  /// Arithmetic on integers; `isZero` gives i1.
  Value iadd(Value a, Value b) const;
  Value isub(Value a, Value b) const;
  Value iand(Value a, Value b) const;
  Value ior(Value a, Value b) const;
  Value ixor(Value a, Value b) const;
  Value isZero(Value a) const;
  Value shiftLeft(Value a, int64_t by) const;
  Value shiftRight(Value a, int64_t by) const;       ///< zeros come in
  Value shiftRightSigned(Value a, int64_t by) const; ///< the sign comes in

  /// table[the lowest bits of each lane of `indices`], of twice as many elements as there are
  /// lanes: one AVX-512 instruction.
  Value lookUp(llvm::ArrayRef<float> table, Value indices) const;

  /// A call of an LLVM intrinsic that gives a vector of floats.
  Value intrinsic(llvm::StringRef name, mlir::ValueRange operands) const;
  /// An AVX-512 instruction that has a mask, all of it.
  Value masked(llvm::StringRef name, mlir::ValueRange operands) const;
  /// An integer that is no vector.
  Value scalarInteger(int64_t value, unsigned bits) const;

  /// Whether one AVX-512 instruction works on vectors of this shape, and the end of its
  /// intrinsic's name: "512", "256" or "128".
  std::optional<llvm::StringRef> avx512Suffix() const;

  const VectorUnit &unit;
  mlir::VectorType floats, integers;
};

/// The functions, one file for each family; `m` stands at the op and has its shape. Their errors
/// are in compiler/cpu/functions.md.
mlir::Value expandExp2(const MathBuilder &m, mlir::Value x);
/// For what is rounded to bf16: fastmath<afn>.
mlir::Value expandRoughExp2(const MathBuilder &m, mlir::Value x);
mlir::Value expandExp(const MathBuilder &m, mlir::Value x);
mlir::Value expandErf(const MathBuilder &m, mlir::Value x);
mlir::Value expandTanh(const MathBuilder &m, mlir::Value x);
mlir::Value expandLog(const MathBuilder &m, mlir::Value x);
mlir::Value expandLog2(const MathBuilder &m, mlir::Value x);
mlir::Value expandLog1p(const MathBuilder &m, mlir::Value x);
mlir::Value expandPow(const MathBuilder &m, mlir::Value x, mlir::Value y);
mlir::Value expandSin(const MathBuilder &m, mlir::Value x);
mlir::Value expandCos(const MathBuilder &m, mlir::Value x);
/// NaN where one of both is NaN; of zeros of either sign, any.
mlir::Value expandMaximum(const MathBuilder &m, mlir::Value a, mlir::Value b);
mlir::Value expandMinimum(const MathBuilder &m, mlir::Value a, mlir::Value b);

/// Whether an op is of no function of math, or of one that all CPUs and GPUs have instructions for;
/// the rest, and the remainder of floats, would end in calls of libm or libdevice.
bool hasInstructions(mlir::Operation *op);

/// All functions in `root`, and conversions, as these.
void expandMath(mlir::Operation *root, const VectorUnit &unit);

/// Conversions from and to bf16, exact and to the nearest even; the op is replaced.
void expandFromBfloat(mlir::arith::ExtFOp op);
void expandToBfloat(mlir::arith::TruncFOp op);

} // namespace attn
