// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tiles of attention kernels: verification.
#include "dialect/AttnDialect.h"

using namespace mlir;
using namespace attn;

/// Buffers of two axes whose last one lies element by element.
static LogicalResult verifyBuffers(Operation *op) {
  for (Value operand : op->getOperands()) {
    auto type = dyn_cast<MemRefType>(operand.getType());
    if (!type || type.getRank() == 1) // a vector of a score
      continue;
    SmallVector<int64_t> strides;
    int64_t offset;
    if (type.getRank() != 2 || failed(type.getStridesAndOffset(strides, offset)) || strides[1] != 1)
      return op->emitOpError("expected buffers of two axes, the last of stride 1, but got ")
             << type;
  }
  return success();
}

static LogicalResult verifyPositive(Operation *op, StringRef what, int64_t size) {
  if (size >= 1)
    return success();
  return op->emitOpError("expected at least 1 of '") << what << "', but got " << size;
}

/// Words up to a multiple of 16.
static int64_t wordsOfPairs(int64_t elements) { return (elements + 31) / 32 * 16; }

static LogicalResult verifyFeatures(Operation *op, Value block, int64_t features, bool pairs) {
  int64_t rows = cast<MemRefType>(block.getType()).getDimSize(0);
  if (rows != ShapedType::kDynamic && rows == (pairs ? wordsOfPairs(features) : features))
    return success();
  return op->emitOpError("expected a block with a row for each of ")
         << features << " features, but got " << block.getType();
}

static int64_t lastColumns(Value buffer) {
  return cast<MemRefType>(buffer.getType()).getDimSize(1);
}

LogicalResult QueryTileOp::verify() {
  if (failed(verifyBuffers(*this)) || failed(verifyPositive(*this, "queries", getQueries())))
    return failure();
  return verifyFeatures(*this, getBlock(), lastColumns(getQuery()), getPairs());
}

/// A region of the tile's own arguments and so many positions; an absent one passes.
static LogicalResult verifyRegion(Operation *op, Region &region, size_t own, size_t positions) {
  if (region.empty())
    return success();
  Block &block = region.front();
  auto yield = dyn_cast_or_null<YieldOp>(block.empty() ? nullptr : &block.back());
  bool areScalars = llvm::all_of(block.getArguments().take_front(own),
                                 [](BlockArgument argument) { return argument.getType().isF32(); });
  if (block.getNumArguments() == own + positions && areScalars && yield &&
      yield.getValue().getType().isF32())
    return success();
  return op->emitOpError("expected a region of ")
         << own << " f32 and " << positions << " positions that yields f32";
}

LogicalResult ResetTileOp::verify() {
  if (failed(verifyBuffers(*this)) || failed(verifyPositive(*this, "queries", getQueries())))
    return failure();
  size_t given = getPositions().size(); // the last query's is none of its own
  return verifyRegion(*this, getSink(), 0, given > 0 ? given - 1 : 0);
}

LogicalResult ScoreTileOp::verify() {
  if (failed(verifyBuffers(*this)) || failed(verifyPositive(*this, "keys", getKeys())) ||
      failed(verifyPositive(*this, "queries", getQueries())) ||
      failed(verifyFeatures(*this, getBlock(), lastColumns(getKey()), false)) ||
      failed(verifyRegion(*this, getCombine(), 2 + getVectors().size(), 0)))
    return failure();
  size_t given = getPositions().size();
  return verifyRegion(*this, getScore(), 1, given > 0 ? given - 1 : 0);
}

LogicalResult SoftmaxTileOp::verify() {
  if (failed(verifyBuffers(*this)))
    return failure();
  return verifyPositive(*this, "queries", getQueries());
}

static LogicalResult verifyWords(Operation *op, Value words, int64_t least) {
  int64_t columns = lastColumns(words);
  if (columns != ShapedType::kDynamic && columns % 16 == 0 && columns >= least)
    return success();
  return op->emitOpError("expected rows of a multiple of 16 words, at least ")
         << least << ", but got " << words.getType();
}

LogicalResult RoundKeysTileOp::verify() {
  if (failed(verifyBuffers(*this)))
    return failure();
  return verifyWords(*this, getRounded(), wordsOfPairs(lastColumns(getKey())));
}

LogicalResult TurnValuesTileOp::verify() {
  if (failed(verifyBuffers(*this)))
    return failure();
  return verifyWords(*this, getTurned(), 16);
}

LogicalResult PairTileOp::verify() {
  if (getSelects() && !getAccumulate())
    return emitOpError("expected 'accumulate' where it 'selects'");
  if (failed(verifyBuffers(*this)) || failed(verifyPositive(*this, "rows", getRows())) ||
      failed(verifyPositive(*this, "queries", getQueries())))
    return failure();
  return verifyWords(*this, getA(), 16);
}

LogicalResult FactorTileOp::verify() { return verifyPositive(*this, "queries", getQueries()); }

LogicalResult RescaleTileOp::verify() {
  if (failed(verifyBuffers(*this)))
    return failure();
  return verifyPositive(*this, "queries", getQueries());
}

LogicalResult StoreTileOp::verify() { return verifyBuffers(*this); }

LogicalResult WeightRowsOp::verify() { return verifyBuffers(*this); }

LogicalResult LseTileOp::verify() { return verifyPositive(*this, "queries", getQueries()); }

LogicalResult PackTileOp::verify() {
  if (failed(verifyBuffers(*this)))
    return failure();
  int64_t features = lastColumns(getValue());
  if (features == ShapedType::kDynamic || lastColumns(getPacked()) < features)
    return emitOpError("expected static rows and room for them, but got ")
           << getValue().getType() << " into " << getPacked().getType();
  return success();
}

LogicalResult ValueTileOp::verify() {
  if (failed(verifyBuffers(*this)) || failed(verifyPositive(*this, "rows", getRows())))
    return failure();
  return verifyPositive(*this, "columns", getColumns());
}

LogicalResult OutputTileOp::verify() {
  if (failed(verifyBuffers(*this)))
    return failure();
  int64_t features = lastColumns(getOut()),
          room = cast<MemRefType>(getSums().getType()).getDimSize(getTurned() ? 0 : 1);
  if (features == ShapedType::kDynamic || room < features)
    return emitOpError("expected static rows and sums for them, but got ")
           << getSums().getType() << " into " << getOut().getType();
  return success();
}
