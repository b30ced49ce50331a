// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// x ** n -> products, a square root and a division; a ** x -> 2 ** (x log2 a).
#include "compiler/frontend/sema/expressions/Powers.h"
#include "compiler/frontend/sema/sizes/Axes.h"
#include "compiler/frontend/sema/sizes/Tensors.h"
#include "dialect/Locations.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>

namespace attn::frontend {

using namespace ast;
using mlir::Location;
namespace arith = mlir::arith;

/// The largest exponent that products are written for.
static constexpr double largestExponent = 64;

/// x ** (halves / 2), by squaring.
static mlir::Value powerOf(mlir::OpBuilder &b, Location loc, mlir::Value x, unsigned halves) {
  mlir::Value result = halves % 2 ? mlir::math::SqrtOp::create(b, loc, x).getResult() : nullptr;
  mlir::Value square = x;
  for (unsigned n = halves / 2; n; n /= 2) {
    if (n % 2)
      result = result ? arith::MulFOp::create(b, loc, result, square).getResult() : square;
    if (n > 1)
      square = arith::MulFOp::create(b, loc, square, square);
  }
  return result ? result : constantOf(b, loc, 1);
}

SemaValue powerOfTensors(Sema &sema, const BinaryExpr &binary, const SemaValue &base,
                         const SemaValue &exponent) {
  bool isRoot = exponent.isNumber() && std::fabs(exponent.number) <= largestExponent &&
                2 * exponent.number == std::floor(2 * exponent.number);
  bool isBase = base.isNumber() && base.number > 0;
  if (!isRoot && !isBase) {
    sema.report
        .error(DiagCode::NumberExpected, binary.range,
               "`**` takes a whole number or half of one, from -64 to 64, on its right, or a "
               "number more than 0 on its left")
        .help("where x is more than 0, `exp(y * log(x))` is x to y");
    return SemaValue::wrong();
  }
  std::string words = sideWords(sema, *binary.left) + " ** " + sideWords(sema, *binary.right);
  mlir::Value tensor = isRoot ? base.tensor : exponent.tensor;
  auto body = [&](mlir::OpBuilder &b, Location loc, mlir::ValueRange x) -> mlir::Value {
    loc = inWords(loc, words);
    if (!isRoot) {
      mlir::Value scaled =
          arith::MulFOp::create(b, loc, x[0], constantOf(b, loc, std::log2(base.number)));
      return mlir::math::Exp2Op::create(b, loc, scaled);
    }
    auto halves = static_cast<unsigned>(std::fabs(2 * exponent.number));
    mlir::Value power = powerOf(b, loc, x[0], halves);
    if (exponent.number >= 0)
      return power;
    return arith::DivFOp::create(b, loc, constantOf(b, loc, 1), power);
  };
  return SemaValue::of(
      makeMap(sema, {tensor}, axesOfValue(tensor), locate(sema, binary.range), body));
}

} // namespace attn::frontend
