// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Functions of math as polynomials, on vectors; a scalar is a vector for the while. Which
// functions, with which errors: compiler/cpu/functions.md.
#include "compiler/kernels/MathBuilder.h"
#include "compiler/kernels/VectorizeRegion.h"
#include "dialect/AttnDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace attn;

using Expansion = Value (*)(const MathBuilder &, ValueRange);

template <Value (*expand)(const MathBuilder &, Value)>
static Value unary(const MathBuilder &m, ValueRange x) {
  return expand(m, x[0]);
}

template <Value (*expand)(const MathBuilder &, Value, Value)>
static Value binary(const MathBuilder &m, ValueRange x) {
  return expand(m, x[0], x[1]);
}

/// Exact to 1.5 units; instructions for it, where there are some, are rough.
static Value expandRsqrt(const MathBuilder &m, Value x) { return m.div(m.constant(1), m.sqrt(x)); }

/// Without NaNs and signed zeros x86 has one instruction for it, which LLVM finds.
static bool isPlain(arith::FastMathFlags flags) {
  return arith::bitEnumContainsAll(flags, arith::FastMathFlags::nnan | arith::FastMathFlags::nsz);
}

/// Whether LLVM makes one instruction of a maximum or minimum.
static bool isInstruction(arith::FastMathFlags flags, const VectorUnit &unit) {
  return unit.maxima || isPlain(flags);
}

/// How an op is expanded; null where it is left alone.
static Expansion expansionOf(Operation *op, const VectorUnit &unit) {
  return llvm::TypeSwitch<Operation *, Expansion>(op)
      .Case([](math::Exp2Op op) -> Expansion {
        return arith::bitEnumContainsAll(op.getFastmath(), arith::FastMathFlags::afn)
                   ? unary<expandRoughExp2>
                   : unary<expandExp2>;
      })
      .Case([](math::ExpOp) { return unary<expandExp>; })
      .Case([](math::ErfOp) { return unary<expandErf>; })
      .Case([](math::TanhOp) { return unary<expandTanh>; })
      .Case([](math::LogOp) { return unary<expandLog>; })
      .Case([](math::Log2Op) { return unary<expandLog2>; })
      .Case([](math::Log1pOp) { return unary<expandLog1p>; })
      .Case([](math::PowFOp) { return binary<expandPow>; })
      .Case([](math::SinOp) { return unary<expandSin>; })
      .Case([](math::CosOp) { return unary<expandCos>; })
      .Case([](math::RsqrtOp) { return unary<expandRsqrt>; })
      .Case([&](arith::MaximumFOp op) -> Expansion {
        return isInstruction(op.getFastmath(), unit) ? nullptr : binary<expandMaximum>;
      })
      .Case([&](arith::MinimumFOp op) -> Expansion {
        return isInstruction(op.getFastmath(), unit) ? nullptr : binary<expandMinimum>;
      })
      .Default([](Operation *) { return nullptr; });
}

/// Replaces the op if its elements are f32.
static void expand(Operation *op, Expansion expansion, const VectorUnit &unit) {
  Type type = op->getResult(0).getType();
  if (!getElementTypeOrSelf(type).isF32())
    return;
  OpBuilder builder(op);
  Location loc = op->getLoc();
  auto vector = dyn_cast<VectorType>(type);
  bool isScalar = !vector;
  if (isScalar)
    vector = VectorType::get({unit.lanes}, type);
  SmallVector<Value> operands(op->getOperands());
  if (isScalar)
    for (Value &operand : operands)
      operand = splat(builder, loc, operand, unit.lanes);
  Value result = expansion(MathBuilder(builder, loc, vector, unit), operands);
  if (isScalar)
    result = vector::ExtractOp::create(builder, loc, result, 0);
  op->getResult(0).replaceAllUsesWith(result);
  op->erase();
}

bool attn::hasInstructions(Operation *op) {
  if (isa<arith::RemFOp>(op))
    return false;
  if (!isa_and_present<math::MathDialect>(op->getDialect()) ||
      !isa<FloatType>(getElementTypeOrSelf(op->getResult(0).getType())))
    return true;
  return isa<math::AbsFOp, math::CeilOp, math::CopySignOp, math::FloorOp, math::FmaOp,
             math::RoundEvenOp, math::SqrtOp, math::TruncOp>(op);
}

void attn::expandMath(Operation *root, const VectorUnit &unit) {
  SmallVector<std::pair<Operation *, Expansion>> ops;
  root->walk([&](Operation *op) {
    if (Expansion expansion = expansionOf(op, unit))
      ops.push_back({op, expansion});
  });
  for (auto [op, expansion] : ops)
    expand(op, expansion, unit);
  root->walk([&](Operation *op) {
    if (auto wider = dyn_cast<arith::ExtFOp>(op);
        wider && getElementTypeOrSelf(wider.getIn().getType()).isBF16())
      expandFromBfloat(wider);
    else if (auto narrower = dyn_cast<arith::TruncFOp>(op);
             narrower && !unit.roundsToBfloat && getElementTypeOrSelf(narrower.getType()).isBF16())
      expandToBfloat(narrower);
  });
}
