// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Linears in f32 on FMA units: of a warp of 64 x 48, a thread has 8 rows and 12 columns. It loads
// four of k of each row at a time, and of each k its columns in three pieces.
#include "compiler/gpu/linear/LinearBlock.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace attn;

namespace {

class FmaLinear : public LinearBlock {
public:
  FmaLinear(LinearKernelOp op, const LinearShape &shape, TileSize size)
      : LinearBlock(op, shape, LinearBlockTile::of(shape, size, /*isFma=*/true)) {
    int64_t width = tile.warpColumns / (4 * count);
    for (int64_t i = 0; i < count; ++i)
      pieces.push_back({4 * width * i, width});
  }

private:
  static constexpr int64_t count = 3; ///< of pieces

  void multiply(Value stage, MutableArrayRef<Value> sums) override;
  /// So many f32 from a pointer on.
  SmallVector<Value> load(Value from, int64_t width);
};

} // namespace

SmallVector<Value> FmaLinear::load(Value from, int64_t width) {
  auto type = VectorType::get({width}, builder.getF32Type());
  Value vector = cores.load(from, type, 4 * width);
  SmallVector<Value> elements;
  for (int64_t i = 0; i < width; ++i)
    elements.push_back(LLVM::ExtractElementOp::create(builder, loc, vector, cores.integer(i)));
  return elements;
}

void FmaLinear::multiply(Value stage, MutableArrayRef<Value> sums) {
  constexpr int64_t depth = 4;
  int64_t rows = tile.warpRows / 8, columns = tile.warpColumns / 4;
  for (int64_t first = 0; first < LinearBlockTile::stepWords; first += depth) {
    Value from =
        pointer(ints.add(stage, rowPlace(ints.add(warpRow, g), ints.constant(first / depth))));
    SmallVector<SmallVector<Value>> a;
    for (int64_t r = 0; r < rows; ++r)
      a.push_back(load(cores.at(from, 8 * LinearBlockTile::rowBytes * r), depth));
    for (int64_t i = 0; i < depth; ++i) {
      SmallVector<Value> b;
      for (Piece piece : pieces) {
        Value column = ints.add(ints.mul(t, piece.width), piece.first);
        // An address for all rows of k that are permuted alike, so that few have registers.
        int64_t k = first + i, alike = i / 2 * 2;
        Value place = panelPlace(ints.constant(alike), column);
        Value from =
            cores.at(pointer(ints.add(stage, place)), (k - alike) * LinearBlockTile::panelRowBytes);
        llvm::append_range(b, load(from, piece.width));
      }
      for (int64_t r = 0; r < rows; ++r)
        for (int64_t c = 0; c < columns; ++c) {
          Value &sum = sums[r * columns + c];
          sum = math::FmaOp::create(builder, loc, a[r][i], b[c], sum);
        }
    }
  }
}

void attn::emitFmaLinear(LinearKernelOp op, const LinearShape &shape, const TilingContext &context,
                         TileSize size) {
  FmaLinear(op, shape, size).run(context);
}
