// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What kernels of attention on tensor cores have in common: a warp's 16 rows of queries, their
// scores for a tile of keys as fragments (TensorCores.h), the hooks on these, and the output.
#pragma once

#include "compiler/gpu/attention/FragmentSoftmax.h"
#include "compiler/gpu/attention/QueryRows.h"
#include "compiler/gpu/attention/ScoreElements.h"

namespace attn {

/// The rows of one warp while its kernel is written.
class AttentionFragments {
public:
  using Value = mlir::Value;

  /// At the beginning of a kernel's function. Tiles are of `tileKeys` keys.
  AttentionFragments(AttentionKernelOp op, const ScoreFunction &score, const TensorCores &cores,
                     int64_t tileKeys, bool packsRows);

  /// Rows [first, + count) of a head are a block's, and rows [first + offset, + 16) the warp's;
  /// those behind the last are as the last, but for the output.
  void enter(llvm::ArrayRef<Value> head, Value first, int64_t count, Value offset);
  FragmentSoftmax::State initial();

  /// Whether all keys are known to be one tile.
  bool hasOneTile() const { return constantIndex(tileCount) == 1; }
  /// The first tile from number `from` on that the mask leaves something of for the block's rows,
  /// or their count. All lanes of a warp ask.
  Value nextTile(Value from);
  /// Whether a tile has pairs of the warp that count and others that do not.
  Value needsTest(Value tile);
  /// Whether the mask takes some pairs of the block and a tile out, or may do so.
  Value isPartial(Value tile);
  /// Replaces products by scores, -inf for pairs that do not count; whether it had to look at each.
  Value applyHooks(llvm::MutableArrayRef<Value> scores, Value tile);
  /// Sums of values of all keys, to the output.
  void store(llvm::ArrayRef<Value> sums, const FragmentSoftmax::State &state);

  /// What part number `part` of the keys of head number `headNumber` adds, to the partials, in the
  /// layout of compiler/transforms/FewQueries.h with vectors of one lane; scores are in natural
  /// units there.
  void storePart(llvm::ArrayRef<Value> sums, const FragmentSoftmax::State &state, Value headNumber,
                 Value part);

  /// The first key of a tile.
  Value firstKeyOf(Value tile) { return index.mul(tile, index.constant(tileKeys)); }

  const TensorCores &cores;
  const IndexBuilder &index;
  QueryRows rows;
  ScoreElements elements;
  FragmentSoftmax softmax;
  llvm::SmallVector<Value> head; ///< that was entered
  Value warpStart;               ///< the first row of the warp's
  int64_t tileKeys;
  Value tileCount;
  bool hasTail; ///< the last tile may have fewer keys

private:
  /// Applies the hooks to a tile whose pairs are tested, or are not.
  void applyHooks(llvm::MutableArrayRef<Value> scores, Value firstKey, bool isTested);
  /// a < b, of indices.
  Value isBelow(Value a, Value b) const;
  /// Positions are numbers of 32 bits, which LLVM is shown by going through these.
  Value asWord(Value position) const;
  Value fromWord(Value word) const;

  AttentionKernelOp op;
  GlobalRows out;
  llvm::SmallVector<Value> positions[2]; ///< of rows g and g + 8
  Value blockFirst, blockLast, warpFirst, warpLast;
};

} // namespace attn
