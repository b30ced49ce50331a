// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// memory -> tiled, attention: the hooks in the tiles of scores.
#include "compiler/cpu/attention/ScoreStages.h"
#include "compiler/kernels/VectorizeRegion.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <limits>

using namespace mlir;

namespace attn {

SmallVector<Value> queryPositions(AttentionTiling &tiling) {
  IndexBuilder &index = tiling.index;
  QueryBlock &block = tiling.block;
  SmallVector<Value> places = block.positions;
  places.push_back(index.sub(index.add(block.positions.back(), block.rowCount), index.constant(1)));
  return places;
}

Value inlined(AttentionTiling &tiling, AttentionTerm term, Region &hook, ValueRange own,
              ValueRange positions) {
  return inlineHook(tiling.builder, hook, own, positions, tiling.op.getCaptures(), term);
}

/// The weight of a score, for normalisers that look at one alone.
static Value emitWeight(AttentionTiling &tiling, Value score) {
  OpBuilder &builder = tiling.builder;
  AtPlace place = tiling.writeFor(AttentionTerm::Weight);
  Location loc = tiling.index.loc;
  auto constant = [&](double value) -> Value {
    return arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(value));
  };
  switch (tiling.op.getNormaliser()) {
  case Normaliser::Sigmoid: {
    Value negated = arith::NegFOp::create(builder, loc, score);
    Value power = math::ExpOp::create(builder, loc, negated);
    Value sum = arith::AddFOp::create(builder, loc, constant(1), power);
    return arith::DivFOp::create(builder, loc, constant(1), sum);
  }
  case Normaliser::Relu:
    return arith::MaximumFOp::create(builder, loc, score, constant(0));
  case Normaliser::ReluMean: {
    Value positive = arith::MaximumFOp::create(builder, loc, score, constant(0));
    return arith::DivFOp::create(builder, loc, positive, tiling.keyCountReal);
  }
  default:
    return score;
  }
}

void emitScore(AttentionTiling &tiling, Region &region, Stage stage) {
  AttentionKernelOp op = tiling.op;
  OpBuilder &builder = tiling.builder;
  IndexBuilder &index = tiling.index;
  OpBuilder::InsertionGuard guard(builder);
  SmallVector<Type> types(1, builder.getF32Type());
  types.append(tiling.block.positions.size() + 1, builder.getIndexType());
  Block *block =
      builder.createBlock(&region, {}, types, SmallVector<Location>(types.size(), index.loc));
  ValueRange pair = block->getArguments().drop_front();
  Value result = block->getArgument(0);
  if (!tiling.isScaled()) {
    IRMapping mapping;
    SmallVector<Value> known(pair);
    llvm::append_range(known, op.getCaptures());
    for (auto [argument, value] :
         llvm::zip_equal(op.getScore().front().getArguments().drop_front(2), known))
      mapping.map(argument, value);
    result = tiling.score.emit(result, mapping, builder);
  }
  if (stage != Stage::Raw && !op.getBias().empty())
    result = inlined(tiling, AttentionTerm::Bias, op.getBias(), result, pair);
  if (stage != Stage::Raw && stage != Stage::Biased && !op.getCap().empty())
    result = inlined(tiling, AttentionTerm::Cap, op.getCap(), result, {});
  bool isWeight = stage == Stage::Weight || stage == Stage::MaskedWeight;
  if (isWeight && tiling.isPointwise())
    result = emitWeight(tiling, result);
  if (stage == Stage::MaskedWeight) {
    AtPlace place = tiling.writeFor(AttentionTerm::Mask);
    Value isLive = inlined(tiling, AttentionTerm::Mask, op.getMask(), {}, pair);
    auto none = builder.getF32FloatAttr(
        tiling.isPointwise() ? 0.0f : -std::numeric_limits<float>::infinity());
    result = arith::SelectOp::create(builder, index.loc, isLive, result,
                                     arith::ConstantOp::create(builder, index.loc, none));
  }
  YieldOp::create(builder, index.loc, result);
}

} // namespace attn
