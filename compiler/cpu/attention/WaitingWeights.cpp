// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// memory -> tiled, attention: online softmax over a few keys at a time, whose weights wait for
// those of the whole tile.
#include "compiler/cpu/attention/WaitingWeights.h"
#include "compiler/cpu/attention/AttentionViews.h"
#include "compiler/cpu/attention/TileProducts.h"
#include "compiler/cpu/attention/TileScores.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace attn {

void tileWaiting(AttentionTiling &tiling, Value keyTile, const ValueTile &valueTile, Value from,
                 Value keys, int64_t queries) {
  const AttentionShape &shape = tiling.shape;
  OpBuilder &builder = tiling.builder;
  IndexBuilder &index = tiling.index;
  QueryBlock &block = tiling.block;
  bool isMasked = !tiling.op.getMask().empty();
  Value one = index.constant(1), two = index.constant(2),
        wordRows = index.constant(shape.tileRoom / 2), scoreRows = index.constant(shape.scoreKeys);
  Value words = rowsOf(tiling, block.strip, tiling.zero, wordRows),
        scores = rowsOf(tiling, block.strip, wordRows, scoreRows);
  auto products = [&](Value first, Value end, bool selects) {
    AtPlace place = tiling.writeFor(AttentionTerm::Values);
    tilePairs(tiling, valueTile.rows, words, block.sums, index.constant(tiling.valueFeatures),
              first, end, queries,
              /*accumulate=*/true, selects);
  };
  auto multiply = [&](Value end) {
    AtPlace place = tiling.writeFor(AttentionTerm::Values);
    Value first = memref::LoadOp::create(builder, index.loc, tiling.multiplied);
    Value areAny =
        isMasked ? arith::CmpIOp::create(builder, index.loc, arith::CmpIPredicate::ult, first, end)
                 : index.truth(true);
    choose(index, areAny, [&] { products(first, end, false); });
  };
  auto setMultiplied = [&](Value end) {
    AtPlace place = tiling.writeFor(AttentionTerm::Values);
    memref::StoreOp::create(builder, index.loc, end, tiling.multiplied);
  };
  setMultiplied(tiling.zero);
  forParts(tiling, keys, shape.scoreKeys, [&](Value at, Value count) {
    Value first = index.add(from, at), rows = rowsOf(tiling, keyTile, at, count);
    Value word = index.div(at, two), nextWord = index.add(word, index.div(scoreRows, two));
    Interval live{index.truth(true), index.truth(true)};
    if (isMasked)
      live = boundTile(tiling, block.positions.back(),
                       index.sub(index.add(block.positions.back(), block.rowCount), one), first,
                       count);
    auto weigh = [&] {
      auto score = [&](Stage stage) {
        tileScores(tiling, rows, scores, first, count, queries, stage);
      };
      tileDots(tiling, rows, scores, count, queries);
      chooseByMask(
          tiling, live.lo, [&] { score(Stage::Weight); }, [&] { score(Stage::MaskedWeight); });
      tileSoftmax(tiling, scores, rowsOf(tiling, words, word, index.div(scoreRows, two)), count,
                  queries,
                  /*online=*/true);
      Location loc = atTerm(tiling.op.getLoc(), AttentionTerm::Weight);
      choose(index, FactorTileOp::create(builder, loc, block.statistics, queries), [&] {
        multiply(word);
        RescaleTileOp::create(builder, loc, block.sums, block.statistics, queries, shape.pairs);
        setMultiplied(word);
      });
      auto multiplyAlone = [&] {
        Value end = index.add(word, index.ceilDiv(count, two));
        chooseByMask(
            tiling, live.lo, [&] { products(word, end, false); },
            [&] { products(word, end, true); });
        setMultiplied(nextWord);
      };
      if (isMasked)
        choose(index, valueTile.areFinite, [] {}, multiplyAlone);
    };
    auto passBy = [&] {
      multiply(word);
      setMultiplied(nextWord);
    };
    tiling.keysBefore = at;
    chooseByMask(tiling, live.hi, weigh, passBy);
    tiling.keysBefore = tiling.zero;
  });
  multiply(index.ceilDiv(keys, two));
}

} // namespace attn
