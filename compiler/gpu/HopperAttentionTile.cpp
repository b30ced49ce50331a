// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/gpu/HopperAttentionTile.h"
#include "compiler/gpu/Kernels.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;
using namespace attn;

// Of 240 registers, a key takes three quarters of one: half for its score, a quarter for its
// weight; hooks and masks need some. Where all keys fit into one tile, or fewer tiles of less keys
// do, they are of that size.
HopperAttentionTile HopperAttentionTile::of(AttentionKernelOp op) {
  HopperAttentionTile tile;
  int64_t batch = static_cast<int64_t>(op.getBatch());
  tile.features = op.getKey().getType().getShape().back();
  tile.valueFeatures = op.getValue().getType().getShape().back();
  int64_t keyCount = op.getKey().getType().getShape()[batch];
  constexpr int64_t stages = 2;
  int64_t keyBytes = boxesOf(tile.features) * swizzleBytes,
          valueBytes = boxesOf(tile.valueFeatures) * swizzleBytes;
  int64_t room = mostSharedBytes - queryMemory - bytesOf(rows, tile.features);
  bool hasHooks = !op.getBias().empty() || !op.getCap().empty();
  int64_t registers = op.getMask().empty() ? 188 : 170;
  if (hasHooks)
    registers = 152;
  else if (tile.valueFeatures > 160) // large sums leave less for what is on its way
    registers -= 12;
  registers -= tile.valueFeatures / 2;
  int64_t most =
      std::min({registers * 4 / 3, room / (stages * (keyBytes + valueBytes)), int64_t(208)});
  most = most / 16 * 16;
  int64_t usual = std::min<int64_t>(most, 128);
  if (ShapedType::isDynamic(keyCount) || !op.getMask().empty() || keyCount > 4 * most)
    tile.keys = usual;
  else
    tile.keys = llvm::alignTo(llvm::divideCeil(keyCount, llvm::divideCeil(keyCount, most)), 16);
  tile.keyRing = {stages, tile.keys * keyBytes, 64, queryMemory + bytesOf(rows, tile.features)};
  tile.valueRing = {stages, tile.keys * valueBytes, 128,
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

/// Whether boxes of a buffer can be copied: halves, rows of features side by side that begin at
/// multiples of 16 bytes, up to five dims.
static bool hasBoxes(AttentionKernelOp op, Value buffer) {
  auto view = buffer.getDefiningOp<memref::ReinterpretCastOp>();
  if (!view || view.getType().getElementType() != halfOf(op))
    return false;
  SmallVector<OpFoldResult> strides = view.getMixedStrides();
  if (getConstantIntValue(strides.pop_back_val()) != 1 ||
      !isAligned(view.getMixedOffsets().front()) || mapDimsOf(op, buffer).size() > 3)
    return false;
  auto isStep = [&](size_t dim) { // where there is a next one
    return view.getType().getDimSize(dim) == 1 || isAligned(strides[dim]);
  };
  return llvm::all_of(llvm::seq<size_t>(0, strides.size()), isStep);
}

bool attn::isHopperAttention(AttentionKernelOp op) {
  int64_t features = op.getKey().getType().getShape().back(),
          valueFeatures = op.getValue().getType().getShape().back(),
          rows = op.getQuery().getType().getShape()[op.getBatch()];
  return usesTensorCores(op) && !op.getPartials() && features % 8 == 0 && valueFeatures % 8 == 0 &&
         features <= 256 && valueFeatures <= 256 && (ShapedType::isDynamic(rows) || rows >= 16) &&
         hasBoxes(op, op.getQuery()) && hasBoxes(op, op.getKey()) && hasBoxes(op, op.getValue());
}

KernelLaunch attn::launchHopperAttention(AttentionKernelOp op) {
  HopperAttentionTile tile = HopperAttentionTile::of(op);
  OpBuilder builder(op);
  Location loc = op.getLoc();
  KernelLaunch launch{HopperAttentionTile::threads, tile.sharedBytes(), /*blocks=*/1};
  for (auto [buffer, rows] : {std::pair<Value, int64_t>(op.getQuery(), HopperAttentionTile::rows),
                              {op.getKey(), tile.keys},
                              {op.getValue(), tile.keys}}) {
    // The batch dims that it is not repeated along, rows, features.
    SmallVector<unsigned> dims = mapDimsOf(op, buffer);
    dims.append({static_cast<unsigned>(op.getBatch()), static_cast<unsigned>(op.getBatch()) + 1});
    SmallVector<int64_t> box{swizzleElements, rows};
    box.append(dims.size() - 2, 1);
    launch.maps.push_back(TensorMap::of(builder, loc, buffer, box, dims));
  }
  return launch;
}
