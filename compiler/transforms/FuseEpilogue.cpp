// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A map that reads a linear becomes part of its epilogue:
//   y = linear x, W; z = map(y, r) {add}   ->   z = linear x, W captures(r) epilogue {add}
// Several maps in a row are fused one after the other. A map that gives integers or truth values to
// one other map becomes part of that.
#include "compiler/transforms/Passes.h"
#include "dialect/AttnDialect.h"
#include "dialect/Locations.h"
#include "dialect/Reasons.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace attn {
#define GEN_PASS_DEF_FUSEEPILOGUEPASS
#include "compiler/transforms/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

namespace {

/// Appends the body of `map` to the epilogue of `fused`, whose first captures are those of
/// `linear`. `position` is the map's input that the linear computes.
void appendEpilogue(PatternRewriter &rewriter, LinearOp linear, MapOp map, size_t position,
                    LinearOp fused) {
  OpBuilder::InsertionGuard guard(rewriter);
  SmallVector<Type> types(1 + fused.getCaptures().size());
  for (auto [i, type] : llvm::enumerate(types))
    type = i == 0 ? rewriter.getF32Type()
                  : cast<RankedTensorType>(fused.getCaptures()[i - 1].getType()).getElementType();
  SmallVector<Location> locations(types.size(), fused.getLoc());
  Block *block = rewriter.createBlock(&fused.getEpilogue(), {}, types, locations);
  Value sum = block->getArgument(0);
  IRMapping mapping;
  if (!linear.getEpilogue().empty()) {
    Block &old = linear.getEpilogue().front();
    for (auto [from, to] : llvm::zip(old.getArguments(), block->getArguments()))
      mapping.map(from, to);
    for (Operation &op : old.without_terminator())
      rewriter.clone(op, mapping);
    sum = mapping.lookupOrDefault(cast<YieldOp>(old.getTerminator()).getValue());
  }
  Block &body = map.getBody().front();
  size_t next = 1 + linear.getCaptures().size();
  for (auto [i, argument] : llvm::enumerate(body.getArguments()))
    mapping.map(argument, i == position ? sum : Value(block->getArgument(next++)));
  for (Operation &op : body)
    rewriter.clone(op, mapping);
}

/// Whether an epilogue can read it.
bool isFloat(Type tensor) { return cast<RankedTensorType>(tensor).getElementType().isF32(); }

/// Why a map that reads a linear is no part of its epilogue; nothing where it can be.
std::optional<Reason> obstacle(LinearOp linear, MapOp map) {
  if (linear.getResult().getType() != map.getResult().getType() ||
      linear->getBlock() != map->getBlock())
    return Reason::OtherAxes;
  if (!llvm::all_of(map.getInputs().getTypes(), isFloat))
    return Reason::OtherElements;
  if (!linear->hasOneUse())
    return Reason::SeveralReaders;
  return std::nullopt;
}

/// Gives the reason why a map stands behind a linear, and is not in its epilogue.
void explainEpilogue(MapOp map) {
  for (Value input : map.getInputs()) {
    auto linear = input.getDefiningOp<LinearOp>();
    std::optional<Reason> reason = linear ? obstacle(linear, map) : std::nullopt;
    if (reason == Reason::SeveralReaders)
      return missed(map, *reason,
                    "this is a kernel of its own, not a part of the linear map before it, which " +
                        readersText(input));
    if (reason == Reason::OtherAxes && linear->getBlock() == map->getBlock())
      return missed(
          map, *reason,
          "this is a kernel of its own: it has other axes or elements than the linear map "
          "before it");
    if (reason == Reason::OtherElements)
      return missed(
          map, *reason,
          "this is a kernel of its own: it reads integers or truth values beside the linear "
          "map before it",
          "`float(…)` of what it reads makes numbers of integers before");
  }
}

struct MapOfLinear : OpRewritePattern<MapOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(MapOp map, PatternRewriter &rewriter) const override {
    for (auto [position, input] : llvm::enumerate(map.getInputs()))
      if (auto linear = input.getDefiningOp<LinearOp>(); linear && !obstacle(linear, map))
        return fuse(linear, map, position, rewriter);
    return rewriter.notifyMatchFailure(map, "no linear of the map's own type that only it reads");
  }

  static LogicalResult fuse(LinearOp linear, MapOp map, size_t position,
                            PatternRewriter &rewriter) {
    SmallVector<Value> captures(linear.getCaptures());
    for (auto [i, input] : llvm::enumerate(map.getInputs()))
      if (i != position)
        captures.push_back(input);
    auto fused = LinearOp::create(rewriter, rewriter.getFusedLoc({linear.getLoc(), map.getLoc()}),
                                  map.getResult().getType(), linear.getInput(), linear.getWeights(),
                                  linear.getBiases(), linear.getNormWeight(), linear.getNormBias(),
                                  captures, linear.getContract(), linear.getNormAttr());
    appendEpilogue(rewriter, linear, map, position, fused);
    rewriter.replaceOp(map, fused);
    rewriter.eraseOp(linear);
    return success();
  }
};

/// A map whose result, integers or truth values that stand for a moment alone, one other map reads.
struct MapOfMap : OpRewritePattern<MapOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(MapOp map, PatternRewriter &rewriter) const override {
    for (Value input : map.getInputs()) {
      auto first = input.getDefiningOp<MapOp>();
      if (first && !isFloat(input.getType()) && first->getBlock() == map->getBlock() &&
          llvm::all_of(first->getUsers(), [&](Operation *user) { return user == map; }) &&
          axesOf(input.getType()) == axesOf(map.getResult().getType()) &&
          operationsOf(first.getBody()).size() + operationsOf(map.getBody()).size() <= mostOps)
        return fuse(first, map, rewriter);
    }
    return rewriter.notifyMatchFailure(map, "no map of its axes that only it reads");
  }

  /// Longer maps gain nothing, and are copied once for each part.
  static constexpr size_t mostOps = 64;

  /// Every tensor is an input once.
  static LogicalResult fuse(MapOp first, MapOp map, PatternRewriter &rewriter) {
    llvm::SetVector<Value> inputs;
    for (Value input : map.getInputs())
      if (input != first.getResult())
        inputs.insert(input);
    inputs.insert(first.getInputs().begin(), first.getInputs().end());
    auto fused = MapOp::create(rewriter, rewriter.getFusedLoc({first.getLoc(), map.getLoc()}),
                               map.getResult().getType(), inputs.getArrayRef());
    OpBuilder::InsertionGuard guard(rewriter);
    Block *block = rewriter.createBlock(&fused.getBody());
    for (Value input : inputs)
      block->addArgument(cast<RankedTensorType>(input.getType()).getElementType(), fused.getLoc());
    auto argumentOf = [&](Value input) {
      return block->getArgument(llvm::find(inputs, input) - inputs.begin());
    };
    auto append = [&](MapOp part, Value computed) {
      IRMapping mapping;
      for (auto [argument, input] :
           llvm::zip_equal(part.getBody().getArguments(), part.getInputs()))
        mapping.map(argument, input == first.getResult() ? computed : argumentOf(input));
      for (Operation &op : part.getBody().front().without_terminator())
        rewriter.clone(op, mapping);
      auto yield = cast<YieldOp>(part.getBody().front().getTerminator());
      return mapping.lookupOrDefault(yield.getValue());
    };
    Value computed = append(first, {});
    YieldOp::create(rewriter, map.getLoc(), append(map, computed));
    rewriter.replaceOp(map, fused);
    rewriter.eraseOp(first);
    return success();
  }
};

struct FuseEpiloguePass : attn::impl::FuseEpiloguePassBase<FuseEpiloguePass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<MapOfLinear, MapOfMap>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      return signalPassFailure();
    if (wantsReasons(getOperation()))
      getOperation().walk([](MapOp map) { explainEpilogue(map); });
  }
};

} // namespace
