// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An attention to the sizes of its tile and the layout of shared memory, and whether Hopper's
// kernel takes it.
#include "compiler/gpu/attention/HopperAttentionTile.h"
#include "compiler/gpu/attention/Attention.h"
#include "compiler/gpu/attention/QueryRows.h"
#include "dialect/Caches.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace attn;

/// Whether a tile has rows of all queries that share keys: where those of one head would leave much
/// of it empty.
static bool packsRows(AttentionKernelOp op) {
  auto batch = static_cast<int64_t>(op.getBatch());
  int64_t queries = op.getQuery().getType().getShape()[batch];
  if (op.getPartials())
    return true;
  if (ShapedType::isDynamic(queries) || queries >= 2 * HopperAttentionTile::groupRows)
    return false;
  bool areShared =
      batch > 0 && isRepeated(op.getKey(), batch - 1) && isRepeated(op.getValue(), batch - 1);
  return areShared || queries <= 16;
}

static bool hasHooks(AttentionKernelOp op) { return !op.getBias().empty() || !op.getCap().empty(); }

/// Whether a tile is of 192 rows: of small heads, whose keys are so read less often. Each of three
/// groups has 160 registers for each of its threads, which masks and hooks take more than. It is
/// for rows that leave little of such tiles empty.
static bool hasThreeGroups(AttentionKernelOp op, const HopperAttentionTile &tile) {
  int64_t queries = op.getQuery().getType().getShape()[op.getBatch()],
          rows = 3 * HopperAttentionTile::groupRows;
  return !tile.packsRows && tile.consumers == 2 && op.getMask().empty() && !hasHooks(op) &&
         std::max(tile.features, tile.valueFeatures) <= 64 && !ShapedType::isDynamic(queries) &&
         int64_t(llvm::alignTo(queries, rows)) * 16 <= queries * 17;
}

/// Keys of a tile where values, 128 or more rows of queries and `room` bytes leave so many. Of 240
/// registers, a key takes three quarters of one: half for its score, a quarter for its weight;
/// hooks and masks need some. Where all keys fit into one tile, or fewer tiles of less keys do,
/// they are of that size.
static int64_t keysOf(AttentionKernelOp op, const HopperAttentionTile &tile, int64_t keyBytes,
                      int64_t room) {
  int64_t keyCount = op.getKey().getType().getShape()[op.getBatch()],
          valueFeatures = tile.valueFeatures;
  bool isDynamic = ShapedType::isDynamic(keyCount);
  int64_t registers = op.getMask().empty() ? 188 : 170;
  // Large sums leave less for masks, for few tiles, which are unrolled, and for numbers of keys
  // that are known when running.
  if (hasHooks(op))
    registers = 152;
  else if (!op.getMask().empty() && valueFeatures > 160)
    registers -= 12;
  else if (isDynamic ? valueFeatures > 232 : valueFeatures > 160 && keyCount <= 512)
    registers -= isDynamic ? 24 : 12;
  registers -= valueFeatures / 2;
  int64_t most = std::min(
      {registers * 4 / 3, room / (2 * keyBytes), int64_t(tile.consumers == 3 ? 128 : 208)});
  most = most / 16 * 16;
  int64_t usual = std::min<int64_t>(most, 128);
  if (isDynamic || !op.getMask().empty() || op.getPartials() || keyCount > 4 * most)
    return usual;
  return llvm::alignTo(llvm::divideCeil(keyCount, llvm::divideCeil(keyCount, most)), 16);
}

// Few queries take as long as their keys are on the way: all memory that is left is stages. One
// consumer's tiles are small, so that parts are even; where sums are large, one has registers for
// more keys than two, and neighbouring blocks take the other rows.
HopperAttentionTile HopperAttentionTile::of(AttentionKernelOp op) {
  HopperAttentionTile tile;
  tile.packsRows = ::packsRows(op);
  std::optional<int64_t> rows = rowsOfHead(op);
  tile.features = op.getKey().getType().getShape().back();
  tile.valueFeatures = op.getValue().getType().getShape().back();
  bool isOne = (rows && *rows <= groupRows) || tile.valueFeatures > 192;
  tile.consumers = tile.packsRows && isOne ? 1 : 2;
  if (hasThreeGroups(op, tile))
    tile.consumers = 3;
  int64_t keyBytes = boxesOf(tile.features) * swizzleBytes,
          valueBytes = boxesOf(tile.valueFeatures) * swizzleBytes;
  int64_t room = mostSharedBytes - queryMemory - bytesOf(tile.rows(), tile.features);
  if (tile.consumers == 1)
    tile.keys = keyBytes + valueBytes <= 2 * swizzleBytes ? 128 : 64;
  else
    tile.keys = keysOf(op, tile, keyBytes + valueBytes, room);
  int64_t stages =
      tile.packsRows ? std::min(room / (tile.keys * (keyBytes + valueBytes)), mostStages) : 2;
  tile.keyRing = {stages, tile.keys * keyBytes, keyBarriers,
                  queryMemory + bytesOf(tile.rows(), tile.features)};
  tile.valueRing = {stages, tile.keys * valueBytes, valueBarriers,
                    tile.keyRing.firstStage + stages * tile.keyRing.bytes};
  return tile;
}

SmallVector<unsigned> attn::mapDimsOf(AttentionKernelOp op, Value buffer) {
  auto type = cast<MemRefType>(buffer.getType());
  auto [strides, offset] = type.getStridesAndOffset();
  SmallVector<unsigned> dims;
  for (unsigned d = 0; d < op.getBatch(); ++d)
    if (strides[d] != 0 && type.getDimSize(d) != 1)
      dims.push_back(d);
  return dims;
}

/// Whether a number of elements is one of 16 bytes of halves for sure.
static bool isAligned(OpFoldResult elements) {
  if (auto known = getConstantIntValue(elements))
    return *known % 8 == 0;
  Operation *op = cast<Value>(elements).getDefiningOp();
  if (auto product = dyn_cast_if_present<arith::MulIOp>(op))
    return isAligned(product.getLhs()) || isAligned(product.getRhs());
  if (auto sum = dyn_cast_if_present<arith::AddIOp>(op))
    return isAligned(sum.getLhs()) && isAligned(sum.getRhs());
  return false;
}

/// Whether a buffer is of `half`, with rows of features side by side that begin at multiples of 16
/// bytes.
static bool hasAlignedRows(Value buffer, Type half) {
  auto view = buffer.getDefiningOp<memref::ReinterpretCastOp>();
  if (!view || view.getType().getElementType() != half)
    return false;
  SmallVector<OpFoldResult> strides = view.getMixedStrides();
  if (getConstantIntValue(strides.pop_back_val()) != 1 ||
      !isAligned(view.getMixedOffsets().front()))
    return false;
  // A slot begins at one, a layer of a cache may not.
  auto cache = view.getSource().getDefiningOp<CachePlaceOp>();
  if (cache && !isAligned(cache.getAt()))
    return false;
  auto isStep = [&](size_t dim) { // where there is a next one
    return view.getType().getDimSize(dim) == 1 || isAligned(strides[dim]);
  };
  return llvm::all_of(llvm::seq<size_t>(0, strides.size()), isStep);
}

/// Whether boxes of a buffer can be copied: of up to five dims.
static bool hasBoxes(AttentionKernelOp op, Value buffer) {
  return hasAlignedRows(buffer, halfOf(op)) && mapDimsOf(op, buffer).size() <= 3;
}

bool attn::isHopperAttention(AttentionKernelOp op) {
  int64_t features = op.getKey().getType().getShape().back(),
          valueFeatures = op.getValue().getType().getShape().back();
  bool hasQueries =
      packsRows(op) ? hasAlignedRows(op.getQuery(), halfOf(op)) : hasBoxes(op, op.getQuery());
  return usesTensorCores(op) && features % 8 == 0 && valueFeatures % 8 == 0 && features <= 256 &&
         valueFeatures <= 256 && hasQueries && hasBoxes(op, op.getKey()) &&
         hasBoxes(op, op.getValue());
}

KernelLaunch attn::launchHopperAttention(AttentionKernelOp op) {
  HopperAttentionTile tile = HopperAttentionTile::of(op);
  OpBuilder builder(op);
  Location loc = op.getLoc();
  KernelLaunch launch{tile.threads(), tile.sharedBytes(), /*blocks=*/1};
  SmallVector<std::pair<Value, int64_t>> copied{{op.getKey(), tile.keys},
                                                {op.getValue(), tile.keys}};
  if (!tile.packsRows)
    copied.push_back({op.getQuery(), tile.rows()});
  for (auto [buffer, rows] : copied) {
    // The batch dims that it is not repeated along, rows, features.
    SmallVector<unsigned> dims = mapDimsOf(op, buffer);
    dims.append({static_cast<unsigned>(op.getBatch()), static_cast<unsigned>(op.getBatch()) + 1});
    SmallVector<int64_t> box{swizzleElements, rows};
    box.append(dims.size() - 2, 1);
    launch.maps.push_back(TensorMap::of(builder, loc, buffer, box, dims));
  }
  return launch;
}
