// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How an attention is cut into tiles, and the scratch that a thread needs for one. Lanes of a
// vector are queries: a block of `queries` of them is transposed once, scores stand as
// [key][query], and no sum or maximum ever crosses lanes. Several blocks of a head, a group, go
// through its keys together, so that what is read of a tile of keys is read once for all of them.
#pragma once

#include "compiler/target/CpuTarget.h"
#include "compiler/transforms/FewQueries.h"
#include "compiler/transforms/KernelChoice.h"
#include "compiler/transforms/TargetModel.h"
#include "dialect/AttnDialect.h"
#include <cstdint>
#include <optional>

namespace attn {

/// How many rows [batch..., rows, columns] can have: where their number is not known, as many as
/// lie between one place of a batch dim and the next, or -1. Views permute, split and cut what is
/// contiguous, so that rows of two places do not alternate.
int64_t mostRows(mlir::Value buffer);

/// What the choice of a lowering looks at; counts are -1 where they are known only at run time.
struct AttentionProblem {
  int64_t queryCount, keyCount, features, valueFeatures;
  int64_t mostKeys; ///< as many as there can be, of a cache for one; -1: no more is known
  /// Whether all scores may stand before any weight is known: tiles of keys are visited one by one
  /// under a mask, so that empty ones are passed by, and where more than the output is wanted.
  bool mayBeOneStrip;
  bool isMasked;
  /// Whether weights of a few keys at a time will do: no more is wanted of them, or of scores.
  bool weightsMayWait;
  bool pairs = false;   ///< both products are of pairs of bf16, whose sums are f32
  bool inTiles = false; ///< of a CPU's tile registers

  /// The problem that a kernel's buffers describe; `op` is the attention or the kernel.
  template <typename AttentionOrKernel>
  static AttentionProblem of(AttentionOrKernel op, mlir::Value key, mlir::Value value,
                             mlir::Value out, bool pairs, bool inTiles) {
    auto dim = [](mlir::Value buffer, int64_t fromEnd) {
      auto type = llvm::cast<mlir::MemRefType>(buffer.getType());
      int64_t size = type.getDimSize(type.getRank() - fromEnd);
      return mlir::ShapedType::isDynamic(size) ? -1 : size;
    };
    bool mayBeOneStrip = op.getMask().empty() && op.getSink().empty() && op.getFurther().empty() &&
                         op.getNormaliser() == Normaliser::Softmax;
    bool weightsMayWait =
        op.getNormaliser() == Normaliser::Softmax &&
        llvm::all_of(op.returnedKinds(), [](Returned kind) { return kind == Returned::LogSumExp; });
    return {dim(out, 2),   dim(key, 2),           dim(key, 1),    dim(value, 1), mostRows(key),
            mayBeOneStrip, !op.getMask().empty(), weightsMayWait, pairs,         pairs && inTiles};
  }

  /// Of a kernel's buffers on a CPU level. `rounds`: products are in bf16 where a level multiplies
  /// pairs.
  template <typename AttentionOrKernel>
  static AttentionProblem on(const CpuTarget &level, AttentionOrKernel op, mlir::Value key,
                             mlir::Value value, mlir::Value out, bool rounds) {
    bool pairs = rounds && level.multipliesPairs() && isOfProducts(op);
    return of(op, key, value, out, pairs, level.amx);
  }
  /// The same of a kernel in the `memory` stage.
  static AttentionProblem on(const CpuTarget &level, AttentionKernelOp op) {
    return on(level, op, op.getKey(), op.getValue(), op.getOut(), op.getRounds().has_value());
  }

  /// What measured choices know such a kernel by: "attention, 197 queries, 197 keys, 64 -> 64".
  std::string name() const;
};

/// Nanoseconds of one head on a core of the target model (LoweringCost.cpp): the products, and what
/// moves beyond the first-level cache or is done again for each tile of keys.
double estimateLowering(const AttentionProblem &problem, AttentionLowering lowering);

/// Strip or online, what costs less by that. Sizes known at run time count as a picture's tokens.
AttentionLowering chooseLowering(const AttentionProblem &problem);

/// Blocks of a group, at most: by the model of the target, or as `chosen`.
int64_t blocksOf(AttentionLowering lowering, const AttentionProblem &problem,
                 std::optional<int64_t> chosen = {});

/// Sizes of an attention's tiles, and where each buffer lies in a thread's scratch, in floats.
struct AttentionShape {
  static constexpr int64_t queries = 48; ///< of a block: three AVX-512 vectors, six AVX2 ones
  /// The most keys of a tile: their values, of 64 features for one, and weights fit the L1 cache.
  static constexpr int64_t tileKeys = TargetModel::powerBelow(
      TargetModel::l1Bytes / (TargetModel::floatBytes * (TargetModel::headFeatures + queries)));
  /// Under a mask: smaller tiles at the border of what is live hold fewer dead pairs.
  static constexpr int64_t maskedTileKeys = tileKeys / 2;
  /// Keys, and features, whose pairs fill a row of a tile register.
  static constexpr int64_t pairGranule = 32;
  /// Keys of a tile with tile registers, whose sums go to memory and back with each tile: where
  /// weights wait for those of a whole tile, and elsewhere.
  static constexpr int64_t waitingTileKeys = 128, registerTileKeys = 112;
  /// The fewest queries for which all keys and values of a head are packed at a time, if they fit
  /// into a cache.
  static constexpr int64_t manyQueries = 5 * queries;

  AttentionLowering lowering;
  bool pairs;             ///< a word of the scratch holds two neighbours in bf16
  int64_t blocks;         ///< of a group, at most
  int64_t keys;           ///< rows of a strip
  int64_t tile;           ///< keys of a tile
  int64_t scoreKeys;      ///< of those, whose scores stand at a time; weights wait for all values
  int64_t tileRoom;       ///< that there is room for
  int64_t packedTiles;    ///< of a head, that are packed at a time: all, or one
  int64_t packedFeatures; ///< of a row of packed values or of sums: whole vectors
  int64_t blockRows;      ///< of a query block: one for each feature, or pair of them
  int64_t stripAt; ///< floats from the start of the scratch: scores [keys][queries], of each block
                   ///< of the group unless online; behind words of weights [tileRoom / 2][queries]
                   ///< where they wait
  int64_t queryAt; ///< the transposed query blocks [blockRows][queries]
  int64_t statisticsAt; ///< [4][queries] for each block, see dialect/tiles/Attention.td
  int64_t sumsAt;  ///< [queries][packedFeatures] for each block; pairs: [packedFeatures][queries]
  int64_t valueAt; ///< packed values [tile][packedFeatures]; pairs: [packedFeatures][tileRoom / 2],
                   ///< packedTiles times
  int64_t keyAt;   ///< pairs: rounded keys [tileRoom][blockRows], packedTiles times
  int64_t floats;  ///< all of it, a multiple of 16

  /// Whether weights of a few keys wait for those of the whole tile.
  bool weightsWait() const { return scoreKeys < tile; }

  /// A lowering that was asked for is taken where it is possible, else that of a measured choice.
  static AttentionShape of(const AttentionProblem &problem, std::optional<AttentionLowering> asked,
                           const KernelChoice &choice = {});
};

} // namespace attn
