// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// memory -> tiled, attention: the blocks of queries of all heads, divided among threads, and a
// thread's brought together in groups of one head.
#include "compiler/cpu/attention/AttentionTiling.h"
#include "compiler/cpu/attention/MaskVerdicts.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <limits>

using namespace mlir;
using namespace attn;

/// How many rows of values are summed for a block of `queries` lanes: fewer only in a part's last
/// block, where it is known. Lanes beyond the last query repeat it.
std::set<int64_t> AttentionTiling::countsOf(int64_t queries) const {
  std::set<int64_t> counts;
  std::optional<int64_t> all = constantIndex(partQueries);
  if (!all)
    return {queries};
  int64_t vectors = llvm::divideCeil(*all, granule),
          blocks = llvm::divideCeil(vectors, AttentionShape::queries / granule);
  // Block i begins at vector i * vectors / blocks, rounded down: blocks have two lengths, and the
  // last one the larger of them, of which queries may be missing.
  int64_t least = vectors / blocks, longer = vectors % blocks, last = least + (longer > 0);
  bool hasShort = longer ? true : blocks > 1;
  if ((hasShort && least * granule == queries) || (longer > 1 && last * granule == queries))
    counts.insert(queries);
  if (last * granule == queries)
    counts.insert(*all - (vectors - last) * granule);
  return counts;
}

/// Lanes of the blocks that occur.
SmallVector<int64_t> AttentionTiling::blockSizes() const {
  SmallVector<int64_t> sizes;
  for (int64_t queries = granule; queries <= AttentionShape::queries; queries += granule)
    if (!countsOf(queries).empty())
      sizes.push_back(queries);
  return sizes;
}

/// Rows [from, from + count) of a head's results: a matrix, or one value for each row.
static Value resultRows(IndexBuilder index, Value buffer, ArrayRef<Value> batch, Value from,
                        Value count) {
  SmallVector<OpFoldResult> offsets(batch.begin(), batch.end()),
      sizes(batch.size(), index.builder.getIndexAttr(1));
  offsets.push_back(from), sizes.push_back(count);
  return viewOf(index, buffer, offsets, sizes, batch.size());
}

/// A head is one part; but where a mask has a period, a part is as long, so that no block crosses a
/// multiple of it: a tile of keys would be live for both sides. Groups are whole parts then.
void AttentionTiling::divideQueries() {
  partQueries = queryCount;
  groupSize = shape.packedTiles > 1 ? std::numeric_limits<int32_t>::max() : shape.blocks;
  std::optional<int64_t> all = constantIndex(queryCount), period;
  if (all && !op.getMask().empty())
    period = maskPeriod(op.getMask(), op.getBatch());
  bool isDivided =
      period && *period >= AttentionShape::tileKeys && *period < *all && *all % *period == 0;
  if (isDivided)
    partQueries = index.constant(*period);
  partVectors = index.ceilDiv(partQueries, index.constant(granule));
  partBlocks = index.ceilDiv(partVectors, index.constant(AttentionShape::queries / granule));
  blockCount = partBlocks;
  if (!isDivided)
    return;
  blockCount = index.mul(partBlocks, index.div(queryCount, partQueries));
  int64_t blocks = *constantIndex(partBlocks);
  isGroupMajor = blocks <= groupSize; // else groups of a head share keys
  if (isGroupMajor)
    groupSize = groupSize / blocks * blocks;
}

/// The first query of a head's block. Blocks of a part differ by at most one vector of queries, so
/// that none is nearly empty.
Value AttentionTiling::firstOf(Value block) {
  Value inPart = block, first = zero;
  if (partQueries != queryCount) {
    inPart = index.rem(block, partBlocks);
    first = index.mul(index.div(block, partBlocks), partQueries);
  }
  Value vector = index.div(index.mul(partVectors, inPart), partBlocks);
  return index.add(first, index.mul(vector, index.constant(granule)));
}

/// The thread's units: up to groupSize blocks of one head at a time, and head by head; where groups
/// hold whole parts, which share no keys, group by group, so that neighbouring heads find the pages
/// of the same rows.
void AttentionTiling::tileGroups() {
  Value heads = index.product(op.getOut(), 0, op.getBatch());
  UnitShare share = unitShare(index, index.mul(heads, blockCount), context.thread, context.threads);
  auto tile = [&](Value first, Value count) {
    firstBlock = first, groupBlocks = count;
    tileGroup();
  };
  // Units [begin, end) of a run of them, of which `size` are each head's.
  auto forHeads = [&](Value start, Value size, Value begin, Value end,
                      llvm::function_ref<void(Value from, Value to)> body) {
    Value firstUnit = index.sub(begin, start), endUnit = index.sub(end, start);
    forLoop(index, index.div(firstUnit, size), index.ceilDiv(endUnit, size), 1, [&](Value head) {
      enterHead(head);
      Value own = index.mul(head, size);
      body(index.sub(index.max(firstUnit, own), own), index.min(index.sub(endUnit, own), size));
    });
  };
  if (!isGroupMajor) {
    forHeads(zero, blockCount, share.from, share.to, [&](Value from, Value to) {
      forLoop(index, from, to, groupSize, [&](Value block) {
        tile(block, index.min(index.constant(groupSize), index.sub(to, block)));
      });
    });
    return;
  }
  Value units = index.mul(heads, index.constant(groupSize));
  forLoop(index, index.div(share.from, units), index.ceilDiv(share.to, units), 1, [&](Value group) {
    Value start = index.mul(group, units), first = index.mul(group, index.constant(groupSize)),
          size = index.min(index.constant(groupSize), index.sub(blockCount, first));
    forHeads(start, size, index.max(share.from, start),
             index.min(share.to, index.add(start, units)),
             [&](Value from, Value to) { tile(index.add(first, from), index.sub(to, from)); });
  });
}

void AttentionTiling::enterHead(Value head) {
  batch = index.delinearize(head, op.getOut(), 0, op.getBatch());
  query = headOf(op.getQuery(), batch), key = headOf(op.getKey(), batch);
  value = headOf(op.getValue(), batch);
  vectors.clear();
  for (ElementOp vector : score.vectors)
    vectors.push_back(vectorOf(vector, batch));
}

/// Block `number` of the group.
void AttentionTiling::enterBlock(Value number) {
  turn = number;
  Value at = index.add(firstBlock, number), from = firstOf(at),
        to = firstOf(index.add(at, index.constant(1)));
  rowCount = index.sub(index.min(to, queryCount), from);
  Value vector = index.constant(granule);
  lanes = index.mul(index.ceilDiv(rowCount, vector), vector);
  positions = batch, positions.push_back(from);
  int64_t queries = AttentionShape::queries;
  bool isOnline = shape.lowering == AttentionLowering::Online;
  strip = scratchOf(shape.stripAt, isOnline ? zero : number, shape.keys, queries);
  block = scratchOf(shape.queryAt, number, shape.blockRows, queries);
  statistics = scratchOf(shape.statisticsAt, number, 4, queries);
  sums = shape.pairs ? scratchOf(shape.sumsAt, number, shape.packedFeatures, queries)
                     : scratchOf(shape.sumsAt, number, queries, shape.packedFeatures);
  out = resultRows(index, op.getOut(), batch, from, rowCount);
  further.clear();
  for (Value buffer : op.getFurther())
    further.push_back(resultRows(index, buffer, batch, from, rowCount));
}

/// body(lanes) of each block of the group.
void AttentionTiling::forBlocks(llvm::function_ref<void(int64_t)> body) {
  auto enter = [&](Value number) {
    enterBlock(number);
    switchOn(index, lanes, blockSizes(), body);
  };
  if (shape.blocks == 1)
    return enter(zero);
  forLoop(index, zero, groupBlocks, 1, enter);
}
