// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Moves maps next to the producers of their inputs, so that they end in the producers' epilogues:
//   map(concat(a, b), p)   ->   concat(map(a, p[0:m]), map(b, p[m:n]))
// and slices above what need not be computed in full (HoistSlices.h).
#include "compiler/transforms/HoistSlices.h"
#include "compiler/transforms/Passes.h"
#include "dialect/AttnDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace attn {
#define GEN_PASS_DEF_SINKMAPPASS
#include "compiler/transforms/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

MapOp attn::cloneMap(OpBuilder &builder, MapOp map, Type result, ValueRange inputs) {
  auto copy = MapOp::create(builder, map.getLoc(), result, inputs);
  IRMapping mapping;
  map.getBody().cloneInto(&copy.getBody(), mapping);
  return copy;
}

namespace {

/// `type` with axis `d` of another size and name.
RankedTensorType withAxis(RankedTensorType type, int64_t d, int64_t size, StringAttr name) {
  SmallVector<int64_t> shape(type.getShape());
  SmallVector<StringAttr> names(axesOf(type));
  shape[d] = size;
  names[d] = name;
  return axesTensor(type.getElementType(), shape, names);
}

/// Elements [offset, offset + size) of `value` along the axis called `axis`, which becomes `name`;
/// the value itself where it lacks the axis.
Value sliceAlong(PatternRewriter &rewriter, Location loc, Value value, StringAttr axis,
                 int64_t offset, int64_t size, StringAttr name) {
  auto type = cast<RankedTensorType>(value.getType());
  int64_t d = axisIndex(type, axis);
  if (d < 0)
    return value;
  Value slice =
      SliceOp::create(rewriter, loc, withAxis(type, d, size, axis), value, d, offset, false, false);
  return RelabelOp::create(rewriter, loc, withAxis(type, d, size, name), slice);
}

struct MapOfConcat : OpRewritePattern<MapOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(MapOp map, PatternRewriter &rewriter) const override {
    auto result = cast<RankedTensorType>(map.getResult().getType());
    for (auto [position, input] : llvm::enumerate(map.getInputs())) {
      auto concat = input.getDefiningOp<ConcatOp>();
      if (concat && concat->hasOneUse() && concat.getResult().getType() == result &&
          !result.isDynamicDim(concat.getAxis()))
        return sink(map, concat, position, rewriter);
    }
    return rewriter.notifyMatchFailure(map, "no concat of the map's own type that only it reads");
  }

  static LogicalResult sink(MapOp map, ConcatOp concat, size_t position,
                            PatternRewriter &rewriter) {
    auto result = cast<RankedTensorType>(map.getResult().getType());
    int64_t axis = concat.getAxis(), offset = 0;
    StringAttr name = axesOf(result)[axis];
    SmallVector<Value> parts;
    SmallVector<int64_t> along;
    for (auto [part, partAxis] : llvm::zip(concat.getInputs(), concat.getAlong())) {
      auto type = cast<RankedTensorType>(part.getType());
      int64_t size = type.getDimSize(partAxis);
      StringAttr partName = axesOf(type)[partAxis];
      SmallVector<Value> inputs;
      for (auto [i, input] : llvm::enumerate(map.getInputs()))
        inputs.push_back(i == position ? part
                                       : sliceAlong(rewriter, map.getLoc(), input, name, offset,
                                                    size, partName));
      parts.push_back(
          cloneMap(rewriter, map, withAxis(result, axis, size, partName), inputs).getResult());
      along.push_back(axis);
      offset += size;
    }
    rewriter.replaceOpWithNewOp<ConcatOp>(map, result, parts, axis, along);
    return success();
  }
};

struct SinkMapPass : attn::impl::SinkMapPassBase<SinkMapPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<MapOfConcat>(&getContext());
    populateSliceHoisting(patterns);
    // Each residual that a slice passes may take a turn, so their number bounds none. It ends,
    // since slices only move up, and maps only into a concat's parts.
    GreedyRewriteConfig config;
    config.setMaxIterations(GreedyRewriteConfig::kNoLimit);
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns), config)))
      signalPassFailure();
  }
};

} // namespace
