// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls of MathBuilder to ops of arith, math and vector, and to LLVM's intrinsics of AVX-512.
#include "compiler/kernels/MathBuilder.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace attn;

MathBuilder::MathBuilder(OpBuilder &builder, Location loc, VectorType shape, const VectorUnit &unit,
                         unsigned bits)
    : FloatArithmetic(builder, loc), unit(unit) {
  Type element = bits == 64 ? Type(builder.getF64Type()) : Type(builder.getF32Type());
  floats = VectorType::get(shape.getShape(), element);
  integers = VectorType::get(shape.getShape(), builder.getIntegerType(bits));
}

Value MathBuilder::constant(double value) const {
  Attribute element = builder.getFloatAttr(floats.getElementType(), value);
  return arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(floats, element));
}

Value MathBuilder::integer(int64_t value) const {
  Attribute element = builder.getIntegerAttr(integers.getElementType(), value);
  return arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(integers, element));
}

// The reciprocal is 1 unit off at most (PTX ISA 9.7.3.13), and the product is rounded.
Value MathBuilder::quotient(Value a, Value b) const {
  if (!unit.hasReciprocals)
    return div(a, b);
  Value scalar = vector::ExtractOp::create(builder, loc, b, 0);
  Value inverse =
      LLVM::CallIntrinsicOp::create(builder, loc, scalar.getType(),
                                    builder.getStringAttr("llvm.nvvm.rcp.approx.ftz.f"), scalar)
          .getResult(0);
  return mul(a, vector::BroadcastOp::create(builder, loc, floats, inverse));
}

Value MathBuilder::polynomial(Value x, ArrayRef<double> coefficients) const {
  Value result = constant(coefficients.back());
  for (double coefficient : llvm::reverse(coefficients.drop_back()))
    result = fma(result, x, constant(coefficient));
  return result;
}

// x86's max(a, b) is a > b ? a : b, which is b where one is NaN: x goes second.
Value MathBuilder::atLeast(Value x, double least) const {
  Value bound = constant(least);
  if (unit.maxima)
    return arith::MaximumFOp::create(builder, loc, bound, x);
  return select(compare(arith::CmpFPredicate::OGT, bound, x), bound, x);
}

Value MathBuilder::atMost(Value x, double most) const {
  Value bound = constant(most);
  if (unit.maxima)
    return arith::MinimumFOp::create(builder, loc, bound, x);
  return select(compare(arith::CmpFPredicate::OLT, bound, x), bound, x);
}

Value MathBuilder::bits(Value a) const {
  return arith::BitcastOp::create(builder, loc, integers, a);
}

Value MathBuilder::fromBits(Value a) const {
  return arith::BitcastOp::create(builder, loc, floats, a);
}

Value MathBuilder::iadd(Value a, Value b) const {
  return arith::AddIOp::create(builder, loc, a, b);
}

Value MathBuilder::isub(Value a, Value b) const {
  return arith::SubIOp::create(builder, loc, a, b);
}

Value MathBuilder::iand(Value a, Value b) const {
  return arith::AndIOp::create(builder, loc, a, b);
}

Value MathBuilder::ior(Value a, Value b) const { return arith::OrIOp::create(builder, loc, a, b); }

Value MathBuilder::ixor(Value a, Value b) const {
  return arith::XOrIOp::create(builder, loc, a, b);
}

Value MathBuilder::isZero(Value a) const {
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, a, integer(0));
}

Value MathBuilder::shiftLeft(Value a, int64_t by) const {
  return arith::ShLIOp::create(builder, loc, a, integer(by));
}

Value MathBuilder::shiftRight(Value a, int64_t by) const {
  return arith::ShRUIOp::create(builder, loc, a, integer(by));
}

Value MathBuilder::shiftRightSigned(Value a, int64_t by) const {
  return arith::ShRSIOp::create(builder, loc, a, integer(by));
}

Value MathBuilder::lookUp(ArrayRef<float> table, Value indices) const {
  size_t lanes = floats.getDimSize(0);
  assert(avx512Suffix() && table.size() == 2 * lanes && "expected a table of two vectors");
  auto half = [&](ArrayRef<float> elements) -> Value {
    return arith::ConstantOp::create(builder, loc, DenseElementsAttr::get(floats, elements));
  };
  return intrinsic(("llvm.x86.avx512.vpermi2var.ps." + *avx512Suffix()).str(),
                   {half(table.take_front(lanes)), indices, half(table.drop_front(lanes))});
}

Value MathBuilder::intrinsic(StringRef name, ValueRange operands) const {
  return LLVM::CallIntrinsicOp::create(builder, loc, floats, builder.getStringAttr(name), operands)
      .getResult(0);
}

Value MathBuilder::masked(StringRef name, ValueRange operands) const {
  StringRef suffix = *avx512Suffix();
  bool isWhole = suffix == "512"; // only this one says how to round: 4, as the thread does
  SmallVector<Value> all(operands);
  all.append({constant(0), scalarInteger(-1, isWhole ? 16 : 8)});
  if (isWhole)
    all.push_back(scalarInteger(4, 32));
  return intrinsic(("llvm.x86.avx512.mask." + name + ".ps." + suffix).str(), all);
}

Value MathBuilder::scalarInteger(int64_t value, unsigned bits) const {
  return arith::ConstantOp::create(builder, loc,
                                   builder.getIntegerAttr(builder.getIntegerType(bits), value));
}

std::optional<StringRef> MathBuilder::avx512Suffix() const {
  if (!unit.avx512 || floats.getRank() != 1 || !floats.getElementType().isF32())
    return std::nullopt;
  switch (floats.getDimSize(0)) {
  case 16:
    return StringRef("512");
  case 8:
    return StringRef("256");
  case 4:
    return StringRef("128");
  }
  return std::nullopt;
}
