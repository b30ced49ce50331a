// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Maps that follow each other in the body of a scan become one:
//   map(map(a, b), c)  ->  map(a, b, c)
// where nothing else reads the inner one. A step is short, and each kernel of it ends at a barrier.
#include "compiler/transforms/Passes.h"
#include "dialect/AttnDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace attn {
#define GEN_PASS_DEF_FUSEMAPPASS
#include "compiler/transforms/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

namespace {

/// Clones the ops of a map for its elements; what it yields.
Value cloneElements(OpBuilder &builder, MapOp map, ValueRange elements) {
  IRMapping mapping;
  Block &body = map.getBody().front();
  mapping.map(body.getArguments(), elements);
  for (Operation &op : body.without_terminator())
    builder.clone(op, mapping);
  return mapping.lookupOrDefault(cast<YieldOp>(body.getTerminator()).getValue());
}

struct MapInScan : OpRewritePattern<MapOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(MapOp map, PatternRewriter &rewriter) const override {
    if (!isa<ScanOp>(map->getParentOp()))
      return rewriter.notifyMatchFailure(map, "no op of a scan's body");
    for (auto [position, input] : llvm::enumerate(map.getInputs())) {
      auto inner = input.getDefiningOp<MapOp>();
      auto isRead = [&](Operation *user) { return user == map; };
      if (inner && inner->getBlock() == map->getBlock() &&
          llvm::all_of(inner->getUsers(), isRead) &&
          inner.getResult().getType().getRank() == map.getResult().getType().getRank()) {
        fuse(map, inner, rewriter);
        return success();
      }
    }
    return rewriter.notifyMatchFailure(map, "no map of all its axes that only it reads");
  }

  static void fuse(MapOp map, MapOp inner, PatternRewriter &rewriter) {
    SetVector<Value> inputs;
    for (Value input : map.getInputs())
      if (input != inner.getResult())
        inputs.insert(input);
    inputs.insert(inner.getInputs().begin(), inner.getInputs().end());
    auto fused = MapOp::create(rewriter, rewriter.getFusedLoc({inner.getLoc(), map.getLoc()}),
                               map.getResult().getType(), inputs.getArrayRef());
    OpBuilder::InsertionGuard guard(rewriter);
    SmallVector<Type> types;
    for (Value input : inputs)
      types.push_back(cast<RankedTensorType>(input.getType()).getElementType());
    Block *body = rewriter.createBlock(&fused.getBody(), {}, types,
                                       SmallVector<Location>(types.size(), fused.getLoc()));
    auto elementOf = [&](Value input) -> Value {
      return body->getArgument(llvm::find(inputs, input) - inputs.begin());
    };
    Value between =
        cloneElements(rewriter, inner, llvm::map_to_vector(inner.getInputs(), elementOf));
    SmallVector<Value> elements;
    for (Value input : map.getInputs())
      elements.push_back(input == inner.getResult() ? between : elementOf(input));
    YieldOp::create(rewriter, fused.getLoc(), cloneElements(rewriter, map, elements));
    rewriter.replaceOp(map, fused);
    rewriter.eraseOp(inner);
  }
};

struct FuseMapPass : attn::impl::FuseMapPassBase<FuseMapPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<MapInScan>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
