// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The formula of a bias, from its sum down: constants, choices and sums.
#include "compiler/transforms/BiasParts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace attn;

/// The number that a value is, if it is one.
static std::optional<APFloat> constantOf(Value value) {
  APFloat number(0.0f);
  if (matchPattern(value, m_ConstantFloat(&number)))
    return number;
  return std::nullopt;
}

/// Likewise a finite one, or a whole one.
static std::optional<double> numberOf(Value value) {
  if (APInt whole; value.getType().isIndex() && matchPattern(value, m_ConstantInt(&whole)))
    return static_cast<double>(whole.getSExtValue());
  auto number = constantOf(value);
  return number && number->isFinite() ? std::optional(number->convertToDouble()) : std::nullopt;
}

static bool isMinusInfinity(const APFloat &number) {
  return number.isInfinity() && number.isNegative();
}

Value BiasParts::negate(Value truth) {
  if (auto comparison = truth.getDefiningOp<arith::CmpIOp>())
    return arith::CmpIOp::create(builder, truth.getLoc(),
                                 arith::invertPredicate(comparison.getPredicate()),
                                 comparison.getLhs(), comparison.getRhs());
  if (auto inverted = truth.getDefiningOp<arith::XOrIOp>();
      inverted && matchPattern(inverted.getRhs(), m_One()))
    return inverted.getLhs();
  Value one = arith::ConstantOp::create(builder, truth.getLoc(), builder.getBoolAttr(true));
  return arith::XOrIOp::create(builder, truth.getLoc(), truth, one);
}

Liveness BiasParts::both(Liveness a, Liveness b) {
  if (a.kind == Liveness::Never || b.kind == Liveness::Always)
    return a;
  if (b.kind == Liveness::Never || a.kind == Liveness::Always)
    return b;
  return Liveness::where(arith::AndIOp::create(builder, a.when.getLoc(), a.when, b.when));
}

Liveness BiasParts::either(Liveness a, Liveness b) {
  if (a.kind == Liveness::Always || b.kind == Liveness::Never)
    return a;
  if (b.kind == Liveness::Always || a.kind == Liveness::Never)
    return b;
  return Liveness::where(arith::OrIOp::create(builder, a.when.getLoc(), a.when, b.when));
}

Liveness BiasParts::choose(Value condition, Liveness yes, Liveness no) {
  if (yes.kind == no.kind && yes.kind != Liveness::When)
    return yes;
  // Of `c and yes or not c and no`, what is always or never so is left out.
  Liveness then = Liveness::where(condition);
  if (yes.kind == Liveness::Always)
    return either(then, no);
  if (no.kind == Liveness::Always)
    return either(Liveness::where(negate(condition)), yes);
  Liveness first = both(then, yes);
  return no.kind == Liveness::Never ? first
                                    : either(first, both(Liveness::where(negate(condition)), no));
}

Liveness BiasParts::isNotZero(Value value) {
  while (Operation *cast = value.getDefiningOp()) {
    if (!isa<arith::SIToFPOp, arith::IndexCastOp>(cast))
      break;
    value = cast->getOperand(0);
  }
  if (auto number = numberOf(value))
    return {*number == 0 ? Liveness::Never : Liveness::Always, {}};
  auto choice = value.getDefiningOp<arith::SelectOp>();
  if (!choice)
    return {};
  return choose(choice.getCondition(), isNotZero(choice.getTrueValue()),
                isNotZero(choice.getFalseValue()));
}

Liveness BiasParts::liveWhere(Value value) {
  if (auto number = constantOf(value))
    return {isMinusInfinity(*number) ? Liveness::Never : Liveness::Always, {}};
  Operation *definition = value.getDefiningOp();
  if (!definition)
    return {};
  return llvm::TypeSwitch<Operation *, Liveness>(definition)
      .Case([&](arith::SelectOp choice) {
        return choose(choice.getCondition(), liveWhere(choice.getTrueValue()),
                      liveWhere(choice.getFalseValue()));
      })
      .Case<arith::AddFOp, arith::MinimumFOp>(
          [&](auto sum) { return both(liveWhere(sum.getLhs()), liveWhere(sum.getRhs())); })
      .Case([&](arith::MaximumFOp larger) {
        return either(liveWhere(larger.getLhs()), liveWhere(larger.getRhs()));
      })
      .Case([&](arith::SubFOp difference) { return liveWhere(difference.getLhs()); })
      .Case([&](math::LogOp logarithm) { return isNotZero(logarithm.getOperand()); })
      .Default([](Operation *) { return Liveness{}; });
}

Value BiasParts::restOf(Value value) {
  if (auto number = constantOf(value))
    return number->isZero() || isMinusInfinity(*number) ? Value() : value;
  auto isDead = [&](Value part) {
    auto number = constantOf(part);
    return number && isMinusInfinity(*number);
  };
  if (auto choice = value.getDefiningOp<arith::SelectOp>()) {
    if (isDead(choice.getTrueValue()))
      return restOf(choice.getFalseValue());
    if (isDead(choice.getFalseValue()))
      return restOf(choice.getTrueValue());
    Value yes = restOf(choice.getTrueValue()), no = restOf(choice.getFalseValue());
    if (yes == choice.getTrueValue() && no == choice.getFalseValue())
      return value;
    if (!yes && !no)
      return {};
    Value zero = arith::ConstantOp::create(builder, choice.getLoc(), builder.getF32FloatAttr(0));
    return arith::SelectOp::create(builder, choice.getLoc(), choice.getCondition(),
                                   yes ? yes : zero, no ? no : zero);
  }
  if (auto sum = value.getDefiningOp<arith::AddFOp>()) {
    Value left = restOf(sum.getLhs()), right = restOf(sum.getRhs());
    if (!left || !right)
      return left ? left : right;
    return left == sum.getLhs() && right == sum.getRhs()
               ? value
               : Value(arith::AddFOp::create(builder, sum.getLoc(), left, right));
  }
  return value;
}

/// Whether a tensor in a region of `op` is a table or a parameter: its elements are finite.
static bool isFinite(AttentionOp op, Value tensor) {
  auto argument = dyn_cast<BlockArgument>(tensor);
  if (!argument)
    return false;
  unsigned first = argument.getOwner()->getNumArguments() - op.getCaptures().size();
  if (argument.getArgNumber() < first)
    return false;
  Value captured = withoutRelabels(op.getCaptures()[argument.getArgNumber() - first]);
  return isa_and_present<TableOp, GetOp>(captured.getDefiningOp());
}

SmallVector<ElementOp> BiasParts::unknownElements(Region &bias, AttentionOp op) {
  SmallVector<ElementOp> unknown;
  for (ElementOp read : bias.getOps<ElementOp>())
    if (!isFinite(op, read.getTensor()) && read.getResult().getType().isF32())
      unknown.push_back(read);
  return unknown;
}

std::optional<double> BiasParts::lowConstant(Region &bias) {
  constexpr double vanishing = -1e4; // exp of less than -104 is 0 in f32; scores are not as large
  for (arith::SelectOp choice : bias.getOps<arith::SelectOp>())
    for (Value value : {choice.getTrueValue(), choice.getFalseValue()})
      if (std::optional<double> number = numberOf(value); number && *number <= vanishing)
        return number;
  return std::nullopt;
}
