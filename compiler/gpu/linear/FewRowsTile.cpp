// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sizes of a linear to how a block of threads divides it.
#include "compiler/gpu/linear/FewRowsTile.h"
#include "compiler/gpu/linear/Linear.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace attn;

int64_t FewRowsTile::down() const { return blockThreads / across(); }

int64_t FewRowsTile::sharedBytes() const {
  return rowBytes() + 4 * (blockThreads / 32) * rows * columns;
}

FewRowsTile FewRowsTile::of(const LinearShape &shape, int64_t rows, int64_t multiprocessors) {
  constexpr int64_t mostRowBytes = 32768, mostUnroll = 2;
  FewRowsTile tile;
  tile.rows = static_cast<int64_t>(llvm::PowerOf2Ceil(rows));
  tile.columns = shape.n >= 16 * multiprocessors ? 16 : 8;
  bool hasTwo = shape.format().isHalf() || shape.format().isOfHalfBytes();
  tile.parts = hasTwo ? 2 : 1;
  tile.steps = llvm::divideCeil(shape.k, stepWords * shape.group());
  tile.chunk = tile.steps;
  int64_t chunks = llvm::divideCeil(tile.rowBytes(), mostRowBytes);
  if (chunks > 1)
    tile.chunk = llvm::alignTo(llvm::divideCeil(tile.steps, chunks), tile.down());
  int64_t rounds = llvm::divideCeil(tile.chunk, tile.down());
  tile.unroll = std::min(rounds, mostUnroll);
  tile.batches = llvm::divideCeil(rounds, tile.unroll);
  return tile;
}

KernelLaunches attn::launchFewRowsLinear(LinearKernelOp op, const LaunchOptions &options) {
  auto shape = LinearShape::of(op, /*readsRounded=*/false);
  if (failed(shape))
    return failure();
  SmallVector<KernelLaunch> launches;
  auto launchFor = [&](int64_t most) {
    auto tile = FewRowsTile::of(*shape, most, options.multiprocessors);
    KernelLaunch launch{blockThreads, tile.sharedBytes()};
    // 96, 128 and 168 registers a thread.
    launch.resident = tile.rows == 1 ? 5 : tile.rows < FewRowsTile::mostRows ? 4 : 3;
    launch.suffix = ".rows" + std::to_string(tile.rows);
    bool isTransposed = options.target.hasWarpGroups;
    launch.emit = [tile, isTransposed](Operation *kernel, const TilingContext &context,
                                       ValueRange) {
      return emitFewRowsLinear(cast<LinearKernelOp>(kernel), context, tile, isTransposed);
    };
    launches.push_back(launch);
  };
  ArrayRef<int64_t> sizes = op.getOut().getType().getShape().drop_back();
  auto dims = static_cast<int64_t>(sizes.size());
  int64_t least = leastCount(op.getOut(), 0, dims);
  if (least > FewRowsTile::mostRows)
    return launches; // or no row at all
  if (!ShapedType::isDynamicShape(sizes)) {
    launchFor(least);
    return launches;
  }
  OpBuilder builder(op);
  IndexBuilder index(builder, op.getLoc());
  Value rows = index.product(op.getOut(), 0, dims);
  for (int64_t most : {int64_t(1), FewRowsTile::mostRows}) {
    if (least > most)
      continue;
    launchFor(most);
    launches.back().condition = builder.createOrFold<arith::CmpIOp>(
        op.getLoc(), arith::CmpIPredicate::ule, rows, index.constant(most));
  }
  return launches;
}
