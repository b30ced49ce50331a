// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tiled -> kernels, attention: scores of a few keys and queries, with queries in the lanes.
#include "compiler/cpu/attention/AttentionTiles.h"
#include "compiler/cpu/attention/OnlineWeights.h"
#include "compiler/cpu/attention/RegisterBlocks.h"
#include "compiler/cpu/attention/RowReads.h"
#include "compiler/kernels/VectorizeRegion.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;

namespace attn {

/// The positions of a row of keys and vector w of the queries: one for each lane, the others for
/// all.
static void appendPositions(TileVectors &tile, ScoreTileOp op, Value row, int64_t w,
                            SmallVectorImpl<Value> &arguments) {
  OperandRange positions = op.getPositions();
  if (positions.empty())
    return;
  size_t batch = positions.size() - 3;
  llvm::append_range(arguments, positions.take_front(batch));
  arguments.push_back(tile.queryPositions(positions[batch], positions[batch + 1], w));
  arguments.push_back(tile.index.add(positions[batch + 2], tile.index.sub(row, op.getRow())));
}

/// What the op makes of a sum, in units of base 2; null where its region cannot be vectorized.
static Value scoreOf(TileVectors &tile, ScoreTileOp op, Value sum, Value row, int64_t w,
                     const DenseMap<Operation *, Value> &read) {
  if (op.getScore().empty())
    return sum;
  SmallVector<Value> arguments{sum};
  appendPositions(tile, op, row, w, arguments);
  Value score = vectorizeRegion(tile.builder, op.getScore(), arguments, tile.target.lanes, read);
  double factor = op.getFactor().convertToFloat();
  if (score && factor != 1)
    score = arith::MulFOp::create(tile.builder, tile.loc, score, tile.constant(factor));
  return score;
}

namespace {

/// A tile that is written: sums of products [key][vector], then what becomes of them.
class ScoreTile {
public:
  ScoreTile(TileVectors &tile, ScoreTileOp op);
  LogicalResult run();

private:
  SmallVector<Value> vectorsAt(Value feature);
  void add(Value feature, int64_t key, ArrayRef<Value> all, MutableArrayRef<Value> sums);
  void finish(int64_t key, ArrayRef<Value> sums);
  void multiply(const RowProducts &products);
  void takeSums();

  TileVectors &tile;
  ScoreTileOp op;
  int64_t keys, vectors, features;
  SmallVector<Value> lanes, rows; ///< Where vectors of queries and keys begin in the strip.
  SmallVector<Value> keyRows;     ///< Of the keys' matrix.
  SmallVector<RowRead> reads;
  SmallVector<SmallVector<Value>> elements; ///< Of a read, [key][vector].
  SmallVector<Value> before, maxima;
  bool isFine = true; ///< All regions could be vectorized.
};

} // namespace

ScoreTile::ScoreTile(TileVectors &tile, ScoreTileOp op)
    : tile(tile), op(op), keys(op.getKeys()), vectors(tile.vectorsOf(op.getQueries())),
      features(cast<MemRefType>(op.getKey().getType()).getDimSize(1)) {
  for (int64_t w = 0; w < vectors; ++w)
    lanes.push_back(tile.plus(op.getLane(), w * tile.target.lanes));
  for (int64_t j = 0; j < keys; ++j)
    rows.push_back(tile.plus(op.getRow(), j));
  keyRows = rows;
  if (!op.getRepeats())
    return;
  Value last = tile.index.sub(tile.index.dim(op.getKey(), 0), tile.index.constant(1));
  for (Value &row : keyRows)
    row = tile.index.min(row, last);
}

/// Vectors of the queries, and elements of what else is combined.
SmallVector<Value> ScoreTile::vectorsAt(Value feature) {
  for (const RowRead &read : reads)
    prefetchRow(tile, read, op, feature);
  SmallVector<Value> all;
  for (Value lane : lanes)
    all.push_back(tile.load(op.getBlock(), feature, lane));
  for (Value vector : op.getVectors()) {
    Value element = memref::LoadOp::create(tile.builder, tile.loc, vector, feature);
    all.push_back(vector::BroadcastOp::create(tile.builder, tile.loc, tile.vectorType, element));
  }
  return all;
}

void ScoreTile::add(Value feature, int64_t key, ArrayRef<Value> all, MutableArrayRef<Value> sums) {
  Value element = tile.broadcast(op.getKey(), keyRows[key], feature);
  for (int64_t w = 0; w < vectors; ++w) {
    Value &sum = sums[key * vectors + w];
    if (op.getCombine().empty()) {
      sum = tile.multiplyAdd(all[w], element, sum);
      continue;
    }
    SmallVector<Value> arguments{all[w], element};
    llvm::append_range(arguments, all.drop_front(vectors));
    Value term = vectorizeRegion(tile.builder, op.getCombine(), arguments, tile.target.lanes);
    isFine &= bool(term);
    if (term)
      sum = arith::AddFOp::create(tile.builder, tile.loc, sum, term);
  }
}

/// Stores a key's scores. What they read of tensors is loaded behind the products, with the first.
void ScoreTile::finish(int64_t key, ArrayRef<Value> sums) {
  if (key == 0) {
    for (const RowRead &read : reads)
      elements.push_back(readRows(tile, read, op));
    AtPlace place = tile.writeFor(AttentionTerm::Weight);
    for (Value lane : lanes)
      before.push_back(tile.load(op.getStatistics(), tile.index.constant(Maximum), lane));
    maxima = before;
  }
  for (int64_t w = 0; w < vectors; ++w) {
    DenseMap<Operation *, Value> read;
    for (auto [rows, all] : llvm::zip_equal(reads, elements))
      read[rows.element] = all[key * vectors + w];
    Value score = scoreOf(tile, op, sums[key * vectors + w], keyRows[key], w, read);
    isFine &= bool(score);
    if (!score)
      return;
    if (!op.getSummed() || !op.getScore().empty())
      tile.store(score, op.getStrip(), rows[key], lanes[w]);
    AtPlace place = tile.writeFor(AttentionTerm::Weight);
    maxima[w] = tile.larger(score, maxima[w]);
  }
}

/// Takes sums that stand in the strip already.
void ScoreTile::takeSums() {
  SmallVector<Value> sums;
  for (int64_t j = 0; j < keys; ++j)
    for (Value lane : lanes)
      sums.push_back(tile.load(op.getStrip(), keyRows[j], lane));
  for (int64_t j = 0; j < keys; ++j)
    finish(j, sums);
}

void ScoreTile::multiply(const RowProducts &products) {
  for (int64_t j = 0; j < keys; ++j) // the next tile's keys: rows far apart, out of L2 or further
    tile.prefetch(op.getKey(), tile.plus(op.getRow(), keys + j), tile.index.constant(0), features);
  SmallVector<Value> sums(keys * vectors, tile.constant(0));
  Value from =
      op.getWeighs() > 0 ? weighAbove(tile, op, lanes, products, sums) : tile.index.constant(0);
  tile.sumProducts(from, tile.index.constant(features), sums, products,
                   op.getCombine().empty() && reads.empty());
}

LogicalResult ScoreTile::run() {
  int64_t weighed = op.getWeighs();
  if (weighed > 0 && features < weighed * vectors + RegisterBlocks::lastSteps)
    return op.emitError("expected a step for each vector that it weighs, but got ")
           << features << " features";
  reads = rowReads(tile, op);
  auto vectorsOf = [&](Value feature) { return vectorsAt(feature); };
  auto addTo = [&](Value feature, int64_t key, ArrayRef<Value> all, MutableArrayRef<Value> sums) {
    add(feature, key, all, sums);
  };
  auto finishKey = [&](int64_t key, ArrayRef<Value> sums) { finish(key, sums); };
  if (op.getSummed())
    takeSums();
  else
    multiply({keys, vectorsOf, addTo, finishKey});
  if (!isFine)
    return failure();
  AtPlace place = tile.writeFor(AttentionTerm::Weight);
  if (weighed > 0)
    raiseMaxima(tile, op, lanes, before, maxima);
  else
    for (auto [lane, maximum] : llvm::zip_equal(lanes, maxima))
      tile.store(maximum, op.getStatistics(), tile.index.constant(Maximum), lane);
  return success();
}

LogicalResult vectorize(TileVectors &tile, ScoreTileOp op) { return ScoreTile(tile, op).run(); }

} // namespace attn
