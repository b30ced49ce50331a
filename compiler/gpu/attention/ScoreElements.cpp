// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The regions of an attention to code for one pair.
#include "compiler/gpu/attention/ScoreElements.h"
#include "compiler/kernels/VectorizeRegion.h"

using namespace mlir;
using namespace attn;

Value ScoreElements::raw(Value sum, ValueRange positions) {
  IRMapping mapping;
  SmallVector<Value> known(positions);
  llvm::append_range(known, op.getCaptures());
  for (auto [argument, value] :
       llvm::zip_equal(op.getScore().front().getArguments().drop_front(2), known))
    mapping.map(argument, value);
  return score.emit(sum, mapping, builder);
}

Value ScoreElements::biased(Value score, ValueRange positions) {
  return op.getBias().empty()
             ? score
             : inlineHook(builder, op.getBias(), score, positions, op.getCaptures());
}

Value ScoreElements::capped(Value score) {
  return op.getCap().empty() ? score
                             : inlineHook(builder, op.getCap(), score, {}, op.getCaptures());
}

Value ScoreElements::isLive(ValueRange positions) {
  return inlineHook(builder, op.getMask(), {}, positions, op.getCaptures());
}

Value ScoreElements::sink(ValueRange positions) {
  return inlineHook(builder, op.getSink(), {}, positions, op.getCaptures());
}

bool ScoreElements::readsTensors() {
  return llvm::any_of(op->getRegions(), [](Region &hook) {
    return !hook.empty() && !hook.front().getOps<ElementOp>().empty();
  });
}

bool ScoreElements::isProportional() {
  return score.factor && *score.factor > 0 && op.getBias().empty() && op.getCap().empty() &&
         op.getSink().empty();
}
