// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Interval arithmetic (Moore 1966) over the ops that masks are made of. A name that occurs twice
// counts as two: bounds are too wide then, never wrong.
#include "compiler/transforms/MaskIntervals.h"

#include "dialect/AttnDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace attn;

namespace {

class MaskBounds {
public:
  MaskBounds(OpBuilder &builder, Location loc) : builder(builder), loc(loc) {}

  Interval of(Region &mask, ArrayRef<Interval> positions, ValueRange captures);

private:
  Interval bound(Operation &op);
  Interval converted(Operation *op);
  Interval connective(Operation &op);
  Interval compare(arith::CmpIPredicate predicate, const Interval &a, const Interval &b);
  Interval compareFloats(arith::CmpFOp op);
  Interval product(const Interval &a, const Interval &b);
  Interval quotient(arith::DivFOp op);
  Interval remainder(arith::RemSIOp op);
  Interval magnitude(const Interval &x);
  Interval select(arith::SelectOp op);
  Interval element(ElementOp op);

  Interval operand(Operation &op, unsigned i) {
    Value value = op.getOperand(i);
    auto found = known.find(value);
    return found == known.end() ? outside(value) : found->second;
  }
  /// A value from outside the mask is the same for all pairs.
  Interval outside(Value value) {
    if (APInt number; !value.getType().isInteger(1) && matchPattern(value, m_ConstantInt(&number)))
      value = constant(number.getSExtValue()); // all are indices here
    return {value, value};
  }
  /// f(lo, hi) of two known operands, else nothing.
  Interval binary(Operation &op, llvm::function_ref<Interval(Interval, Interval)> f) {
    Interval a = operand(op, 0), b = operand(op, 1);
    return a.lo && b.lo ? f(a, b) : Interval{};
  }
  template <typename Op> Value create(Value a, Value b) {
    return builder.createOrFold<Op>(loc, a, b);
  }
  Value constant(int64_t value) { return arith::ConstantIndexOp::create(builder, loc, value); }
  Value truth(bool value) {
    return arith::ConstantOp::create(builder, loc, builder.getBoolAttr(value));
  }
  Value isTrue(arith::CmpIPredicate predicate, Value a, Value b) {
    return builder.createOrFold<arith::CmpIOp>(loc, predicate, a, b);
  }
  Interval anything() { return {truth(false), truth(true)}; }
  Interval negated(const Interval &x) {
    return {create<arith::XOrIOp>(x.hi, truth(true)), create<arith::XOrIOp>(x.lo, truth(true))};
  }
  Value smaller(Value a, Value b) {
    if (isa<FloatType>(a.getType()))
      return create<arith::MinimumFOp>(a, b);
    return a.getType().isIndex() ? create<arith::MinSIOp>(a, b) : create<arith::AndIOp>(a, b);
  }
  Value larger(Value a, Value b) {
    if (isa<FloatType>(a.getType()))
      return create<arith::MaximumFOp>(a, b);
    return a.getType().isIndex() ? create<arith::MaxSIOp>(a, b) : create<arith::OrIOp>(a, b);
  }

  OpBuilder &builder;
  Location loc;
  DenseMap<Value, Interval> known;
  IRMapping buffers;
};

} // namespace

Interval MaskBounds::compare(arith::CmpIPredicate predicate, const Interval &a, const Interval &b) {
  using P = arith::CmpIPredicate;
  switch (predicate) {
  case P::slt:
  case P::sle:
    return {isTrue(predicate, a.hi, b.lo), isTrue(predicate, a.lo, b.hi)};
  case P::sgt:
    return compare(P::slt, b, a);
  case P::sge:
    return compare(P::sle, b, a);
  case P::eq: {
    Value overlap = create<arith::AndIOp>(isTrue(P::sle, a.lo, b.hi), isTrue(P::sle, b.lo, a.hi));
    Value same = create<arith::AndIOp>(isTrue(P::eq, a.lo, b.hi), isTrue(P::eq, a.hi, b.lo));
    return {same, overlap};
  }
  case P::ne:
    return negated(compare(P::eq, a, b));
  default:
    return anything();
  }
}

/// Floats of tensors may be NaN, and so are then the bounds of what holds one: no order is known.
Interval MaskBounds::compareFloats(arith::CmpFOp op) {
  using P = arith::CmpFPredicate;
  Interval a = operand(*op, 0), b = operand(*op, 1);
  if (!a.lo || !b.lo)
    return anything();
  auto holds = [&](P predicate, Value x, Value y) {
    return builder.createOrFold<arith::CmpFOp>(loc, predicate, x, y);
  };
  auto atMost = [&](P ordered, P mayBe, const Interval &x, const Interval &y) -> Interval {
    return {create<arith::AndIOp>(holds(ordered, x.hi, y.lo), holds(P::ORD, x.lo, y.hi)),
            create<arith::OrIOp>(holds(mayBe, x.lo, y.hi), holds(P::UNO, x.hi, y.lo))};
  };
  auto equal = [&]() -> Interval {
    return {create<arith::AndIOp>(holds(P::OEQ, a.lo, b.hi), holds(P::OEQ, a.hi, b.lo)),
            create<arith::AndIOp>(holds(P::ULE, a.lo, b.hi), holds(P::ULE, b.lo, a.hi))};
  };
  switch (op.getPredicate()) {
  case P::OLT:
    return atMost(P::OLT, P::ULT, a, b);
  case P::OLE:
    return atMost(P::OLE, P::ULE, a, b);
  case P::OGT:
    return atMost(P::OLT, P::ULT, b, a);
  case P::OGE:
    return atMost(P::OLE, P::ULE, b, a);
  case P::OEQ:
    return equal();
  case P::UNE:
    return negated(equal());
  default:
    return anything();
  }
}

Interval MaskBounds::product(const Interval &a, const Interval &b) {
  auto times = [&](Value x, Value y) {
    return isa<FloatType>(x.getType()) ? create<arith::MulFOp>(x, y) : create<arith::MulIOp>(x, y);
  };
  Value products[] = {times(a.lo, b.lo), times(a.lo, b.hi), times(a.hi, b.lo), times(a.hi, b.hi)};
  Interval all{products[0], products[0]};
  for (Value value : ArrayRef(products).drop_front())
    all = {smaller(all.lo, value), larger(all.hi, value)};
  return all;
}

/// By a constant other than 0.
Interval MaskBounds::quotient(arith::DivFOp op) {
  Interval x = operand(*op, 0);
  APFloat divisor(0.0f);
  if (!x.lo || !matchPattern(op.getRhs(), m_ConstantFloat(&divisor)) || divisor.isZero())
    return {};
  Value by =
      arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(divisor.convertToFloat()));
  Value a = create<arith::DivFOp>(x.lo, by), b = create<arith::DivFOp>(x.hi, by);
  return divisor.isNegative() ? Interval{b, a} : Interval{a, b};
}

/// The sign of a remainder is that of the dividend. Between two dividends of one quotient, the
/// remainder keeps their order.
Interval MaskBounds::remainder(arith::RemSIOp op) {
  Interval x = operand(*op, 0);
  APInt divisor;
  if (!x.lo || !matchPattern(op.getRhs(), m_ConstantInt(&divisor)) || !divisor.isStrictlyPositive())
    return {};
  Value by = constant(divisor.getSExtValue()), most = constant(divisor.getSExtValue() - 1),
        least = constant(1 - divisor.getSExtValue()), zero = constant(0);
  Value isOne = isTrue(arith::CmpIPredicate::eq, create<arith::DivSIOp>(x.lo, by),
                       create<arith::DivSIOp>(x.hi, by));
  auto orElse = [&](Value end, Value widest) {
    return builder.createOrFold<arith::SelectOp>(loc, isOne, create<arith::RemSIOp>(end, by),
                                                 widest);
  };
  return {orElse(x.lo, larger(smaller(x.lo, zero), least)),
          orElse(x.hi, smaller(larger(x.hi, zero), most))};
}

Interval MaskBounds::magnitude(const Interval &x) {
  Value zero = constant(0), below = create<arith::SubIOp>(zero, x.hi),
        above = create<arith::SubIOp>(zero, x.lo);
  return {larger(larger(x.lo, below), zero), larger(x.hi, above)};
}

Interval MaskBounds::select(arith::SelectOp op) {
  Interval condition = operand(*op, 0), yes = operand(*op, 1), no = operand(*op, 2);
  if (!yes.lo || !no.lo)
    return {};
  Interval either{smaller(yes.lo, no.lo), larger(yes.hi, no.hi)};
  auto when = [&](Value always, Value never, Value a, Value b, Value other) {
    Value rest = builder.createOrFold<arith::SelectOp>(loc, never, b, other);
    return builder.createOrFold<arith::SelectOp>(loc, always, a, rest);
  };
  Value never = create<arith::XOrIOp>(condition.hi, truth(true));
  return {when(condition.lo, never, yes.lo, no.lo, either.lo),
          when(condition.lo, never, yes.hi, no.hi, either.hi)};
}

/// What a tensor holds: read where one element is meant; the least and the largest of those along
/// one axis or two; more is not looked through.
Interval MaskBounds::element(ElementOp op) {
  SmallVector<Value> from, to;
  int64_t ranges = 0;
  for (unsigned i = 0; i < op.getPositions().size(); ++i) {
    Interval x = operand(*op, i + 1);
    if (!x.lo)
      return {};
    from.push_back(x.lo), to.push_back(x.hi);
    ranges += x.lo != x.hi;
  }
  Value buffer = buffers.lookupOrDefault(op.getTensor());
  Type type = op.getResult().getType();
  if (ranges == 0) {
    Value value = ElementOp::create(builder, loc, type, buffer, from);
    return {value, value};
  }
  if (ranges > 2)
    return {};
  auto range = RangeTileOp::create(builder, loc, type, type, buffer, from, to);
  return {range.getLeast(), range.getGreatest()};
}

/// A number as another kind of number, which keeps the order of values.
Interval MaskBounds::converted(Operation *op) {
  Interval x = operand(*op, 0);
  if (!x.lo)
    return x;
  auto ofBoth = [&](llvm::function_ref<Value(Value)> convert) -> Interval {
    return {convert(x.lo), convert(x.hi)};
  };
  return llvm::TypeSwitch<Operation *, Interval>(op)
      .Case([&](math::FloorOp) {
        return ofBoth([&](Value value) { return builder.createOrFold<math::FloorOp>(loc, value); });
      })
      .Case([&](arith::SIToFPOp) {
        return ofBoth([&](Value value) {
          Value whole = builder.createOrFold<arith::IndexCastOp>(loc, builder.getI64Type(), value);
          return builder.createOrFold<arith::SIToFPOp>(loc, builder.getF32Type(), whole);
        });
      })
      .Case([&](arith::FPToSIOp) { // of whole numbers
        return ofBoth([&](Value value) {
          Value number = builder.createOrFold<arith::FPToSIOp>(loc, builder.getI64Type(), value);
          return builder.createOrFold<arith::IndexCastOp>(loc, builder.getIndexType(), number);
        });
      })
      .Default([&](Operation *) { return x; }); // all whole numbers are indices here
}

/// `and`, `or` and `not` of truth values.
Interval MaskBounds::connective(Operation &op) {
  if (!op.getResult(0).getType().isInteger(1))
    return {};
  Interval a = operand(op, 0), b = operand(op, 1);
  if (isa<arith::AndIOp>(op))
    return {smaller(a.lo, b.lo), smaller(a.hi, b.hi)};
  if (isa<arith::OrIOp>(op))
    return {larger(a.lo, b.lo), larger(a.hi, b.hi)};
  return matchPattern(op.getOperand(1), m_One()) ? negated(a) : anything();
}

Interval MaskBounds::bound(Operation &op) {
  return llvm::TypeSwitch<Operation *, Interval>(&op)
      .Case([&](arith::ConstantOp constantOp) -> Interval {
        Value value;
        if (auto number = dyn_cast<IntegerAttr>(constantOp.getValue());
            number && !number.getType().isInteger(1))
          value = constant(number.getValue().getSExtValue());
        else
          value = builder.clone(op)->getResult(0);
        return {value, value};
      })
      .Case([&](arith::AddIOp) {
        return binary(op, [&](Interval a, Interval b) -> Interval {
          return {create<arith::AddIOp>(a.lo, b.lo), create<arith::AddIOp>(a.hi, b.hi)};
        });
      })
      .Case([&](arith::SubIOp) {
        return binary(op, [&](Interval a, Interval b) -> Interval {
          return {create<arith::SubIOp>(a.lo, b.hi), create<arith::SubIOp>(a.hi, b.lo)};
        });
      })
      .Case([&](arith::AddFOp) {
        return binary(op, [&](Interval a, Interval b) -> Interval {
          return {create<arith::AddFOp>(a.lo, b.lo), create<arith::AddFOp>(a.hi, b.hi)};
        });
      })
      .Case([&](arith::SubFOp) {
        return binary(op, [&](Interval a, Interval b) -> Interval {
          return {create<arith::SubFOp>(a.lo, b.hi), create<arith::SubFOp>(a.hi, b.lo)};
        });
      })
      .Case<arith::MulIOp, arith::MulFOp>(
          [&](auto) { return binary(op, [&](Interval a, Interval b) { return product(a, b); }); })
      .Case<arith::MinSIOp, arith::MinimumFOp>([&](auto) {
        return binary(op, [&](Interval a, Interval b) -> Interval {
          return {smaller(a.lo, b.lo), smaller(a.hi, b.hi)};
        });
      })
      .Case<arith::MaxSIOp, arith::MaximumFOp>([&](auto) {
        return binary(op, [&](Interval a, Interval b) -> Interval {
          return {larger(a.lo, b.lo), larger(a.hi, b.hi)};
        });
      })
      .Case([&](arith::DivFOp division) { return quotient(division); })
      .Case([&](arith::RemSIOp division) { return remainder(division); })
      .Case([&](math::AbsIOp) {
        Interval x = operand(op, 0);
        return x.lo ? magnitude(x) : x;
      })
      .Case<math::FloorOp, arith::IndexCastOp, arith::SIToFPOp, arith::FPToSIOp>(
          [&](auto conversion) { return converted(conversion); })
      .Case([&](arith::CmpIOp comparison) {
        Interval a = operand(op, 0), b = operand(op, 1);
        return a.lo && b.lo ? compare(comparison.getPredicate(), a, b) : anything();
      })
      .Case([&](arith::CmpFOp comparison) { return compareFloats(comparison); })
      .Case([&](arith::SelectOp choice) { return select(choice); })
      .Case([&](ElementOp read) { return element(read); })
      .Case<arith::AndIOp, arith::OrIOp, arith::XOrIOp>([&](auto) { return connective(op); })
      .Default([](Operation *) { return Interval{}; });
}

Interval MaskBounds::of(Region &mask, ArrayRef<Interval> positions, ValueRange captures) {
  Block &block = mask.front();
  for (auto [argument, interval] : llvm::zip(block.getArguments(), positions))
    known[argument] = interval;
  buffers.map(block.getArguments().take_back(captures.size()), captures);
  for (Operation &op : block.without_terminator()) {
    Interval bounds = bound(op);
    if (!bounds.lo && op.getResult(0).getType().isInteger(1))
      bounds = anything();
    known[op.getResult(0)] = bounds;
  }
  Value live = cast<YieldOp>(block.getTerminator()).getValue();
  auto found = known.find(live);
  return found == known.end() ? outside(live) : found->second;
}

Interval attn::boundMask(OpBuilder &builder, Location loc, Region &mask,
                         ArrayRef<Interval> positions, ValueRange captures) {
  return MaskBounds(builder, loc).of(mask, positions, captures);
}

std::optional<LivePairs> attn::judgePairs(OpBuilder &builder, Location loc, Region &mask,
                                          ArrayRef<Interval> positions, ValueRange captures) {
  Interval live = boundMask(builder, loc, mask, positions, captures);
  APInt some, all;
  if (!live.hi || !matchPattern(live.hi, m_ConstantInt(&some)) ||
      !matchPattern(live.lo, m_ConstantInt(&all)))
    return std::nullopt;
  return some.isZero() ? LivePairs::None : all.isZero() ? LivePairs::Perhaps : LivePairs::All;
}

std::optional<int64_t> attn::maskPeriod(Region &mask, unsigned position) {
  std::optional<int64_t> period;
  bool isOne = true;
  mask.walk([&](math::FloorOp floor) {
    auto division = floor.getOperand().getDefiningOp<arith::DivFOp>();
    APFloat divisor(0.0f);
    if (!division || !matchPattern(division.getRhs(), m_ConstantFloat(&divisor)))
      return;
    Value dividend = division.getLhs();
    while (Operation *cast = dividend.getDefiningOp()) {
      if (!isa<arith::SIToFPOp, arith::IndexCastOp>(cast))
        return;
      dividend = cast->getOperand(0);
    }
    if (dividend != mask.getArgument(position) || !divisor.isInteger())
      return;
    auto length = static_cast<int64_t>(divisor.convertToFloat());
    isOne &= !period || *period == length;
    period = length;
  });
  return isOne ? period : std::nullopt;
}
