// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scores in fragments to weights, with the maxima and sums of rows across the four lanes that have
// them.
#include "compiler/gpu/attention/FragmentSoftmax.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include <limits>

using namespace mlir;
using namespace attn;

/// The largest exponent with 13 fractional digits left in a float.
static constexpr double largeExponent = 1024;

static constexpr double none = -std::numeric_limits<double>::infinity();

Value FragmentSoftmax::equals(Value a, double b) const {
  return arith::CmpFOp::create(cores.builder, cores.loc, arith::CmpFPredicate::OEQ, a,
                               cores.number(b));
}

FragmentSoftmax::State FragmentSoftmax::initial(std::optional<std::array<Value, 2>> sinks) const {
  OpBuilder &builder = cores.builder;
  Location loc = cores.loc;
  State state;
  for (int r = 0; r < 2; ++r) {
    state.maxima[r] = sinks ? (*sinks)[r] : cores.number(none);
    state.sums[r] = cores.number(0);
    if (!sinks)
      continue;
    // Of the four threads of a row, one has the sink's weight.
    Value isFirst = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, cores.t,
                                          cores.index.constant(0));
    Value isNone = equals(state.maxima[r], none);
    Value one = arith::SelectOp::create(builder, loc, isFirst, cores.number(1), cores.number(0));
    state.sums[r] = arith::SelectOp::create(builder, loc, isNone, cores.number(0), one);
  }
  return state;
}

std::array<Value, 2> FragmentSoftmax::weigh(MutableArrayRef<Value> scores, State &state) const {
  OpBuilder &builder = cores.builder;
  Location loc = cores.loc;
  auto scaled = [&](Value value) -> Value {
    return arith::MulFOp::create(builder, loc, value, cores.number(unit));
  };
  auto difference = [&](Value a, Value b) -> Value {
    return arith::SubFOp::create(builder, loc, a, b);
  };
  std::array<Value, 2> factors, shifts, products, before = state.maxima;
  for (auto [i, score] : llvm::enumerate(scores)) {
    Value &maximum = state.maxima[FragmentPlace::of(static_cast<int64_t>(i)).row];
    maximum = cores.larger(maximum, score);
  }
  for (int r = 0; r < 2; ++r) {
    Value &maximum = state.maxima[r];
    maximum = cores.acrossRow(maximum, [&](Value a, Value b) { return cores.larger(a, b); });
    // Something to subtract: of a row of -inf alone, weights are 2^-inf.
    shifts[r] =
        arith::SelectOp::create(builder, loc, equals(maximum, none), cores.number(0), maximum);
    products[r] = arith::NegFOp::create(builder, loc, scaled(shifts[r]));
    factors[r] = cores.exp2(scaled(difference(before[r], shifts[r])));
    state.sums[r] = arith::MulFOp::create(builder, loc, state.sums[r], factors[r]);
  }
  auto exponentials = [&](bool isFused) {
    SmallVector<Value> weights;
    for (auto [i, score] : llvm::enumerate(scores)) {
      int64_t r = FragmentPlace::of(static_cast<int64_t>(i)).row;
      weights.push_back(cores.exp2(
          isFused ? math::FmaOp::create(builder, loc, score, cores.number(unit), products[r])
                  : scaled(difference(score, shifts[r]))));
    }
    return weights;
  };
  auto branch = [&](bool isFused) {
    return [&, isFused](OpBuilder &, Location) {
      scf::YieldOp::create(builder, loc, exponentials(isFused));
    };
  };
  SmallVector<Value> weights;
  if (fuses) {
    // One fused multiply-add, whose error is that of the product for the largest score, the same
    // for all of a row. Where scores are large, it has no fractional digits left: the difference is
    // first.
    Value largest = cores.larger(math::AbsFOp::create(builder, loc, products[0]),
                                 math::AbsFOp::create(builder, loc, products[1]));
    Value areLarge = cores.any(arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGE,
                                                     largest, cores.number(largeExponent)));
    weights = scf::IfOp::create(builder, loc, areLarge, branch(false), branch(true)).getResults();
  } else {
    weights = exponentials(false);
  }
  for (auto [i, score] : llvm::enumerate(scores)) {
    int64_t r = FragmentPlace::of(static_cast<int64_t>(i)).row;
    score = weights[i];
    state.sums[r] = arith::AddFOp::create(builder, loc, state.sums[r], score);
  }
  return factors;
}

std::array<Value, 2> FragmentSoftmax::inverses(const State &state) const {
  OpBuilder &builder = cores.builder;
  Location loc = cores.loc;
  std::array<Value, 2> result;
  for (int r = 0; r < 2; ++r) {
    Value sum = cores.acrossRow(state.sums[r], [&](Value a, Value b) -> Value {
      return arith::AddFOp::create(builder, loc, a, b);
    });
    result[r] =
        arith::SelectOp::create(builder, loc, equals(sum, 0), cores.number(0), cores.inverse(sum));
  }
  return result;
}
