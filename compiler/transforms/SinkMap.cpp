// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Moves work next to its producer:
//   map(concat(a, b), p)   ->  concat(map(a, p[0:m]), map(b, p[m:n]))      so that the map ends in
//   a's and b's epilogue slice(layernorm(x))    ->  layernorm(slice(x))                          so
//   that only the rows that are read are normed slice(map(x, y))       ->  map(slice(x), slice(y))
#include "compiler/transforms/Passes.h"
#include "dialect/AttnDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace attn {
#define GEN_PASS_DEF_SINKMAPPASS
#include "compiler/transforms/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

namespace {

/// `type` with axis `d` of another size and name.
RankedTensorType withAxis(RankedTensorType type, int64_t d, int64_t size, StringAttr name) {
  SmallVector<int64_t> shape(type.getShape());
  SmallVector<StringAttr> names(axesOf(type));
  shape[d] = size;
  names[d] = name;
  return axesTensor(type.getElementType(), shape, names);
}

/// A map with the body of `map` over other inputs.
MapOp cloneMap(PatternRewriter &rewriter, MapOp map, Type result, ValueRange inputs) {
  auto copy = MapOp::create(rewriter, map.getLoc(), result, inputs);
  rewriter.cloneRegionBefore(map.getBody(), copy.getBody(), copy.getBody().end());
  return copy;
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
      SliceOp::create(rewriter, loc, withAxis(type, d, size, axis), value, d, offset, false);
  return RelabelOp::create(rewriter, loc, withAxis(type, d, size, name), slice);
}

struct MapOfConcat : OpRewritePattern<MapOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(MapOp map, PatternRewriter &rewriter) const override {
    auto result = cast<RankedTensorType>(map.getResult().getType());
    for (auto [position, input] : llvm::enumerate(map.getInputs())) {
      auto concat = input.getDefiningOp<ConcatOp>();
      if (concat && concat->hasOneUse() && concat.getResult().getType() == result)
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

struct SliceOfLayerNorm : OpRewritePattern<SliceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(SliceOp slice, PatternRewriter &rewriter) const override {
    auto norm = slice.getInput().getDefiningOp<LayerNormOp>();
    if (!norm || !norm->hasOneUse())
      return rewriter.notifyMatchFailure(slice, "no norm that only the slice reads");
    int64_t normed = cast<RankedTensorType>(norm.getGamma().getType()).getRank();
    int64_t rank = cast<RankedTensorType>(norm.getInput().getType()).getRank();
    if (static_cast<int64_t>(slice.getAxis()) >= rank - normed)
      return rewriter.notifyMatchFailure(slice, "the axis is normed over");
    auto rows =
        SliceOp::create(rewriter, slice.getLoc(), slice.getResult().getType(), norm.getInput(),
                        slice.getAxis(), slice.getOffset(), slice.getDrop());
    rewriter.replaceOpWithNewOp<LayerNormOp>(slice, rows.getResult(), norm.getGamma(),
                                             norm.getBeta(), norm.getEps());
    return success();
  }
};

struct SliceOfMap : OpRewritePattern<SliceOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(SliceOp slice, PatternRewriter &rewriter) const override {
    auto map = slice.getInput().getDefiningOp<MapOp>();
    if (!map || !map->hasOneUse())
      return rewriter.notifyMatchFailure(slice, "no map that only the slice reads");
    StringAttr axis = axesOf(map.getResult().getType())[slice.getAxis()];
    auto result = cast<RankedTensorType>(slice.getResult().getType());
    SmallVector<Value> inputs;
    for (Value input : map.getInputs())
      inputs.push_back(sliceOf(rewriter, slice, input, axis));
    rewriter.replaceOp(slice, cloneMap(rewriter, map, result, inputs));
    return success();
  }

  /// The same elements of one of the map's inputs; all of it where it lacks the axis.
  static Value sliceOf(PatternRewriter &rewriter, SliceOp slice, Value input, StringAttr axis) {
    auto type = cast<RankedTensorType>(input.getType());
    int64_t d = axisIndex(type, axis);
    if (d < 0)
      return input;
    SmallVector<int64_t> shape(type.getShape());
    SmallVector<StringAttr> names(axesOf(type));
    if (slice.getDrop()) {
      shape.erase(shape.begin() + d);
      names.erase(names.begin() + d);
    } else {
      auto result = cast<RankedTensorType>(slice.getResult().getType());
      shape[d] = result.getDimSize(slice.getAxis());
      names[d] = axesOf(result)[slice.getAxis()];
    }
    return SliceOp::create(rewriter, slice.getLoc(),
                           axesTensor(type.getElementType(), shape, names), input, d,
                           slice.getOffset(), slice.getDrop());
  }
};

struct SinkMapPass : attn::impl::SinkMapPassBase<SinkMapPass> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    patterns.add<MapOfConcat, SliceOfLayerNorm, SliceOfMap>(&getContext());
    if (failed(applyPatternsGreedily(getOperation(), std::move(patterns))))
      signalPassFailure();
  }
};

} // namespace
