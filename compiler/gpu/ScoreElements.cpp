// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/gpu/ScoreElements.h"
#include "compiler/cpu/VectorizeRegion.h"

using namespace mlir;
using namespace attn;

Value ScoreElements::of(Value sum, ValueRange positions) {
  IRMapping mapping;
  SmallVector<Value> known(positions);
  llvm::append_range(known, op.getCaptures());
  for (auto [argument, value] :
       llvm::zip_equal(op.getScore().front().getArguments().drop_front(2), known))
    mapping.map(argument, value);
  Value result = score.emit(sum, mapping, builder);
  if (!op.getBias().empty())
    result = inlineHook(builder, op.getBias(), result, positions, op.getCaptures());
  if (!op.getCap().empty())
    result = inlineHook(builder, op.getCap(), result, {}, op.getCaptures());
  return result;
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
