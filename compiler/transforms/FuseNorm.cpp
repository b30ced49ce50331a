// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A norm that only one linear reads is attached to it:
//   n = norm x <kind> weight w bias b; y = linear n, W   ->   y = linear x, W norm <kind>
//   norm_weight w norm_bias b
#include "compiler/transforms/Passes.h"
#include "dialect/AttnDialect.h"
#include "dialect/Reasons.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace attn {
#define GEN_PASS_DEF_FUSENORMPASS
#define GEN_PASS_DEF_CHECKFUSEDPASS
#include "compiler/transforms/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

namespace {

struct LinearOfNorm : OpRewritePattern<LinearOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(LinearOp linear, PatternRewriter &rewriter) const override {
    auto norm = linear.getInput().getDefiningOp<NormOp>();
    if (!norm || !norm->hasOneUse() || linear.getNorm() || norm->getBlock() != linear->getBlock())
      return rewriter.notifyMatchFailure(linear, "no norm beside it that only the linear reads");
    if (norm.getAxes() != linear.getContract())
      return rewriter.notifyMatchFailure(linear,
                                         "the norm is over other axes than the linear contracts");
    rewriter.modifyOpInPlace(linear, [&] {
      linear.getInputMutable().assign(norm.getInput());
      if (norm.getWeight())
        linear.getNormWeightMutable().assign(norm.getWeight());
      if (norm.getBias())
        linear.getNormBiasMutable().assign(norm.getBias());
      linear.setNormAttr(norm.getNorm());
      linear->setLoc(rewriter.getFusedLoc({linear.getLoc(), norm.getLoc()}));
    });
    rewriter.eraseOp(norm);
    return success();
  }
};

/// Gives the reason why a norm that linear maps read is computed by itself.
void explainNorm(NormOp norm) {
  Value normed = norm.getResult();
  auto isLinear = [](Operation *user) { return isa<LinearOp>(user); };
  if (llvm::any_of(normed.getUsers(), isLinear) && !norm->hasOneUse())
    missed(norm, Reason::SeveralReaders,
           "the norm is computed by itself, not with the rows of a linear map: it " +
               readersText(normed));
}

struct FuseNormPass : attn::impl::FuseNormPassBase<FuseNormPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<LinearOfNorm>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      return signalPassFailure();
    if (wantsReasons(getOperation()))
      getOperation().walk([](NormOp norm) { explainNorm(norm); });
  }
};

/// Whether an epilogue can read what a map reads.
bool readsFloats(MapOp map) {
  return llvm::all_of(map.getInputs().getTypes(), [](Type type) {
    return cast<RankedTensorType>(type).getElementType().isF32();
  });
}

struct CheckFusedPass : attn::impl::CheckFusedPassBase<CheckFusedPass> {
  void runOnOperation() override {
    getOperation().walk([&](MapOp map) {
      for (Value input : map.getInputs())
        if (auto linear = input.getDefiningOp<LinearOp>();
            linear && linear->hasOneUse() && readsFloats(map) &&
            linear.getResult().getType() == map.getResult().getType()) {
          map.emitError("fused stage: expected the map in the epilogue of the linear before it");
          signalPassFailure();
        }
    });
  }
};

} // namespace
