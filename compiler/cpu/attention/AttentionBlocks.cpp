// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// memory -> tiled, attention: the blocks of queries of all heads, divided among threads, and a
// thread's brought together in groups of one head.
#include "compiler/cpu/attention/AttentionBlocks.h"
#include "compiler/cpu/attention/AttentionViews.h"
#include "compiler/transforms/MaskIntervals.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <limits>

using namespace mlir;

namespace attn {

std::set<int64_t> countsOf(AttentionTiling &tiling, int64_t queries) {
  QueryDivision &division = tiling.division;
  std::set<int64_t> counts;
  std::optional<int64_t> all = constantIndex(division.partQueries);
  if (!all)
    return {queries};
  int64_t vectors = llvm::divideCeil(*all, division.granule),
          blocks = llvm::divideCeil(vectors, AttentionShape::queries / division.granule);
  // Block i begins at vector i * vectors / blocks, rounded down: blocks have two lengths, and the
  // last one the larger of them, of which queries may be missing.
  int64_t least = vectors / blocks, longer = vectors % blocks, last = least + (longer > 0);
  bool hasShort = longer ? true : blocks > 1;
  if ((hasShort && least * division.granule == queries) ||
      (longer > 1 && last * division.granule == queries))
    counts.insert(queries);
  if (last * division.granule == queries)
    counts.insert(*all - (vectors - last) * division.granule);
  return counts;
}

SmallVector<int64_t> blockSizes(AttentionTiling &tiling) {
  SmallVector<int64_t> sizes;
  for (int64_t queries = tiling.division.granule; queries <= AttentionShape::queries;
       queries += tiling.division.granule)
    if (!countsOf(tiling, queries).empty())
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

void divideQueries(AttentionTiling &tiling) {
  AttentionKernelOp op = tiling.op;
  IndexBuilder &index = tiling.index;
  QueryDivision &division = tiling.division;
  division.partQueries = tiling.queryCount;
  division.groupSize =
      tiling.shape.packedTiles > 1 ? std::numeric_limits<int32_t>::max() : tiling.shape.blocks;
  std::optional<int64_t> all = constantIndex(tiling.queryCount), period;
  if (all && !op.getMask().empty())
    period = maskPeriod(op.getMask(), op.getBatch());
  bool isDivided =
      period && *period >= AttentionShape::tileKeys && *period < *all && *all % *period == 0;
  if (isDivided)
    division.partQueries = index.constant(*period);
  division.partVectors = index.ceilDiv(division.partQueries, index.constant(division.granule));
  division.partBlocks = index.ceilDiv(division.partVectors,
                                      index.constant(AttentionShape::queries / division.granule));
  division.blockCount = division.partBlocks;
  if (!isDivided)
    return;
  division.blockCount =
      index.mul(division.partBlocks, index.div(tiling.queryCount, division.partQueries));
  int64_t blocks = *constantIndex(division.partBlocks);
  division.isGroupMajor = blocks <= division.groupSize; // else groups of a head share keys
  if (division.isGroupMajor)
    division.groupSize = division.groupSize / blocks * blocks;
}

Value firstOf(AttentionTiling &tiling, Value block) {
  IndexBuilder &index = tiling.index;
  QueryDivision &division = tiling.division;
  Value inPart = block, first = tiling.zero;
  if (division.partQueries != tiling.queryCount) {
    inPart = index.rem(block, division.partBlocks);
    first = index.mul(index.div(block, division.partBlocks), division.partQueries);
  }
  Value vector = index.div(index.mul(division.partVectors, inPart), division.partBlocks);
  return index.add(first, index.mul(vector, index.constant(division.granule)));
}

static void enterHead(AttentionTiling &tiling, Value head) {
  AttentionKernelOp op = tiling.op;
  tiling.head.batch = tiling.index.delinearize(head, op.getOut(), 0, op.getBatch());
  {
    AtPlace place = tiling.writeFor(AttentionTerm::Values);
    tiling.head.value = headOf(tiling, op.getValue(), tiling.head.batch);
  }
  AtPlace place = tiling.writeFor(AttentionTerm::Score);
  tiling.head.query = headOf(tiling, op.getQuery(), tiling.head.batch);
  tiling.head.key = headOf(tiling, op.getKey(), tiling.head.batch);
  tiling.head.vectors.clear();
  for (ElementOp vector : tiling.score.vectors)
    tiling.head.vectors.push_back(vectorOf(tiling, vector, tiling.head.batch));
}

void tileGroups(AttentionTiling &tiling, llvm::function_ref<void()> tileGroup) {
  IndexBuilder &index = tiling.index;
  QueryDivision &division = tiling.division;
  Value heads = index.product(tiling.op.getOut(), 0, tiling.op.getBatch());
  UnitShare share = tiling.context.pieces.of(index, index.mul(heads, division.blockCount));
  auto tile = [&](Value first, Value count) {
    tiling.group.first = first, tiling.group.count = count;
    tileGroup();
  };
  // Units [begin, end) of a run of them, of which `size` are each head's.
  auto forHeads = [&](Value start, Value size, Value begin, Value end,
                      llvm::function_ref<void(Value from, Value to)> body) {
    Value firstUnit = index.sub(begin, start), endUnit = index.sub(end, start);
    forLoop(index, index.div(firstUnit, size), index.ceilDiv(endUnit, size), 1, [&](Value head) {
      enterHead(tiling, head);
      Value own = index.mul(head, size);
      body(index.sub(index.max(firstUnit, own), own), index.min(index.sub(endUnit, own), size));
    });
  };
  if (!division.isGroupMajor) {
    forHeads(tiling.zero, division.blockCount, share.from, share.to, [&](Value from, Value to) {
      forLoop(index, from, to, division.groupSize, [&](Value block) {
        tile(block, index.min(index.constant(division.groupSize), index.sub(to, block)));
      });
    });
    return;
  }
  Value units = index.mul(heads, index.constant(division.groupSize));
  forLoop(index, index.div(share.from, units), index.ceilDiv(share.to, units), 1, [&](Value group) {
    Value start = index.mul(group, units),
          first = index.mul(group, index.constant(division.groupSize)),
          size =
              index.min(index.constant(division.groupSize), index.sub(division.blockCount, first));
    forHeads(start, size, index.max(share.from, start),
             index.min(share.to, index.add(start, units)),
             [&](Value from, Value to) { tile(index.add(first, from), index.sub(to, from)); });
  });
}

/// Block `number` of the group.
static void enterBlock(AttentionTiling &tiling, Value number) {
  const AttentionShape &shape = tiling.shape;
  IndexBuilder &index = tiling.index;
  HeadBuffers &head = tiling.head;
  QueryBlock &block = tiling.block;
  block.turn = number;
  Value at = index.add(tiling.group.first, number), from = firstOf(tiling, at),
        to = firstOf(tiling, index.add(at, index.constant(1)));
  block.rowCount = index.sub(index.min(to, tiling.queryCount), from);
  Value vector = index.constant(tiling.division.granule);
  block.lanes = index.mul(index.ceilDiv(block.rowCount, vector), vector);
  block.positions = head.batch, block.positions.push_back(from);
  int64_t queries = AttentionShape::queries;
  bool isOnline = shape.lowering == AttentionLowering::Online;
  {
    AtPlace place = tiling.writeFor(AttentionTerm::Score);
    block.strip =
        scratchOf(tiling, shape.stripAt, isOnline ? tiling.zero : number, shape.keys, queries);
    block.queries = scratchOf(tiling, shape.queryAt, number, shape.blockRows, queries);
  }
  {
    AtPlace place = tiling.writeFor(AttentionTerm::Weight);
    block.statistics = scratchOf(tiling, shape.statisticsAt, number, 4, queries);
  }
  AtPlace place = tiling.writeFor(AttentionTerm::Values);
  block.sums = shape.pairs ? scratchOf(tiling, shape.sumsAt, number, shape.packedFeatures, queries)
                           : scratchOf(tiling, shape.sumsAt, number, queries, shape.packedFeatures);
  block.out = resultRows(index, tiling.op.getOut(), head.batch, from, block.rowCount);
  block.further.clear();
  for (Value buffer : tiling.op.getFurther())
    block.further.push_back(resultRows(index, buffer, head.batch, from, block.rowCount));
}

void forBlocks(AttentionTiling &tiling, llvm::function_ref<void(int64_t)> body) {
  auto enter = [&](Value number) {
    enterBlock(tiling, number);
    switchOn(tiling.index, tiling.block.lanes, blockSizes(tiling), body);
  };
  if (tiling.shape.blocks == 1)
    return enter(tiling.zero);
  forLoop(tiling.index, tiling.zero, tiling.group.count, 1, enter);
}

} // namespace attn
