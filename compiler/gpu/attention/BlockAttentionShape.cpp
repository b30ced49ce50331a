// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sizes of an attention to those of its tiles: what fits into shared memory and registers, and
// whether tensor cores take it at all.
#include "compiler/gpu/attention/BlockAttentionShape.h"
#include "compiler/gpu/attention/QueryRows.h"
#include "compiler/gpu/threads/SharedTile.h"
#include <limits>

using namespace mlir;
using namespace attn;

/// When asked, from sm_86 on.
static constexpr int64_t maximalSharedBytes = 96 << 10;

bool attn::queriesStay(int64_t features) { return features > 160; }

int64_t attn::sharedBytesOf(int64_t tileKeys, int64_t features, int64_t valueFeatures) {
  int64_t queries = blockRows * SharedTile::rowBytesOf(features),
          keys = tileKeys * SharedTile::rowBytesOf(features),
          values = tileKeys * SharedTile::rowBytesOf(valueFeatures);
  return keys + (queriesStay(features) ? queries + values : std::max(queries, values));
}

int64_t attn::tileKeysOf(int64_t features, int64_t valueFeatures, std::optional<int64_t> keyCount,
                         bool isProportional, bool isMasked) {
  // Of 255 registers, sums and queries have theirs. With a key's score, its weight in bf16 and
  // words on their way it takes 5/4; the rest is for addresses: found by ptxas, which then spills
  // none.
  int64_t hooks = isProportional ? 0 : 32, few = 24,
          registers = 180 - hooks - valueFeatures / 2 - features / 4;
  int64_t most = queriesStay(features) || valueFeatures > 160 ? few : registers * 4 / 5 / 8 * 8;
  most = std::clamp<int64_t>(most, few, 112);
  while (sharedBytesOf(most, features, valueFeatures) > maximalSharedBytes && most > 8)
    most -= 8;
  constexpr int64_t overhead = 8;
  int64_t usual = valueFeatures > 96 ? 56 : 64; // places of rows of several heads need some
  if (!keyCount || isMasked)
    return std::min(most, usual);
  // A tile has no more keys than there are, and of all sizes the one that wastes least is taken.
  int64_t best = most, bestCost = std::numeric_limits<int64_t>::max();
  for (int64_t size = std::min(most, few); size <= most; size += 8) {
    int64_t cost = llvm::divideCeil(*keyCount, size) * (size + overhead);
    if (cost <= bestCost)
      best = size, bestCost = cost;
  }
  return std::min<int64_t>(best, llvm::alignTo(*keyCount, 8));
}

void attn::dropParts(Operation *root, const GpuTarget &target) {
  constexpr int64_t few = 16;
  SmallVector<CombineKernelOp> combined;
  root->walk([&](CombineKernelOp combine) {
    for (Operation *user : combine.getPartials().getUsers()) {
      auto op = dyn_cast<AttentionKernelOp>(user);
      std::optional<int64_t> rows = op ? rowsOfHead(op) : std::nullopt;
      if (!op || (rows && *rows <= few) || (target.hasWarpGroups && isHopperAttention(op)))
        continue;
      op.getPartialsMutable().clear();
      combined.push_back(combine);
      break;
    }
  });
  for (CombineKernelOp op : combined)
    op.erase();
}

Type attn::halfOf(AttentionKernelOp op) { return op.getRounds().value_or(Type()); }

StringRef attn::obstacleToTensorCores(AttentionKernelOp op) {
  if (!halfOf(op))
    return "its products are of f32";
  constexpr int64_t mostFeatures = 256; // whose sums registers hold
  for (Value buffer : {op.getKey(), op.getValue()})
    if (cast<MemRefType>(buffer.getType()).getShape().back() > mostFeatures)
      return "the sums of heads of more than 256 features do not fit into registers";
  auto dots = op.getScore().getOps<DotOp>();
  if (!llvm::hasSingleElement(dots) || !(*dots.begin()).isOfQueryAndKey())
    return "its score is not made of one product of query and key";
  if (op.getNormaliser() != Normaliser::Softmax)
    return "its weights are not those of a softmax";
  return op.getFurther().empty() ? "" : "more than its output is returned";
}
