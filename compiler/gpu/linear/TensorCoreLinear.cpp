// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Linears on tensor cores, by mma.m16n8k16 of pairs of 16 bits, whose words are those of packed
// panels, or m16n8k8 of f32 rounded to tf32, whose fragments have their words at the same places
// (PTX ISA 9.7.14.5.8, .7). A product's eight columns are every fourth, second or next of a piece
// of the panel's: then a thread loads the words of its columns for four, two or one products at
// once, and its sums are of neighbouring columns.
#include "compiler/gpu/linear/LinearBlock.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

using namespace mlir;
using namespace attn;

namespace {

class TensorCoreLinear : public LinearBlock {
public:
  TensorCoreLinear(LinearKernelOp op, const LinearShape &shape, TileSize size)
      : LinearBlock(op, shape, LinearBlockTile::of(shape, size, /*isFma=*/false)),
        isTf32(shape.precision == Precision::TF32) {
    int64_t first = 0;
    for (int64_t products = 4; products > 0; products /= 2)
      for (; first + 8 * products <= tile.warpColumns; first += 8 * products)
        pieces.push_back({first, 2 * products});
  }

private:
  void multiply(Value stage, MutableArrayRef<Value> sums) override;
  SmallVector<Value> inOrder(ArrayRef<Value> sums) override;
  /// Words of columns for all products across the warp's columns: k being 4 * quarter + t.
  SmallVector<Value> panelWords(Value stage, int64_t quarter);
  /// Words as products take them.
  SmallVector<Value> rounded(SmallVector<Value> words);
  int64_t productsAcross() const { return tile.warpColumns / 8; }

  bool isTf32; ///< words are f32
};

} // namespace

SmallVector<Value> TensorCoreLinear::rounded(SmallVector<Value> words) {
  if (isTf32)
    for (Value &word : words)
      word = cores.roundToTf32(word);
  return words;
}

SmallVector<Value> TensorCoreLinear::panelWords(Value stage, int64_t quarter) {
  SmallVector<Value> words;
  for (Piece piece : pieces) {
    int64_t products = piece.width / 2;
    Value column = ints.add(ints.mul(g, products), piece.first);
    Value from = cores.at(pointer(ints.add(stage, panelPlace(t, column))),
                          4 * quarter * LinearBlockTile::panelRowBytes);
    if (products == 1) {
      words.push_back(cores.load(from, builder.getI32Type(), 4));
      continue;
    }
    Value vector =
        cores.load(from, VectorType::get({products}, builder.getI32Type()), 4 * products);
    for (int64_t i = 0; i < products; ++i)
      words.push_back(LLVM::ExtractElementOp::create(builder, loc, vector, cores.integer(i)));
  }
  return rounded(words);
}

void TensorCoreLinear::multiply(Value stage, MutableArrayRef<Value> sums) {
  for (int64_t half = 0; half < 2; ++half) {
    Value row = ints.add(warpRow, ints.rem(lane, 16)),
          piece = ints.add(ints.div(lane, 16), 2 * half);
    Value from = ints.add(stage, rowPlace(row, piece));
    SmallVector<Value> near = panelWords(stage, 2 * half), far = panelWords(stage, 2 * half + 1);
    for (int64_t m = 0; m < tile.warpRows / 16; ++m) {
      SmallVector<Value> a = rounded(
          cores.loadMatrices(from, 16 * m * LinearBlockTile::rowBytes, 4, /*isTransposed=*/false));
      for (int64_t n = 0; n < productsAcross(); ++n) {
        auto own = sums.slice(4 * (m * productsAcross() + n), 4);
        if (isTf32)
          cores.multiplyTf32(own, a, {near[n], far[n]});
        else
          cores.multiply(own, a, {near[n], far[n]});
      }
    }
  }
}

SmallVector<Value> TensorCoreLinear::inOrder(ArrayRef<Value> sums) {
  SmallVector<Value> ordered;
  for (int64_t row = 0; row < tile.warpRows / 8; ++row)
    for (Piece piece : pieces)
      for (int64_t i = 0; i < piece.width; ++i) {
        int64_t products = piece.width / 2, product = piece.first / 8 + i % products;
        ordered.push_back(
            sums[4 * (row / 2 * productsAcross() + product) + 2 * (row % 2) + i / products]);
      }
  return ordered;
}

void attn::emitTensorCoreLinear(LinearKernelOp op, const LinearShape &shape,
                                const TilingContext &context, TileSize size) {
  TensorCoreLinear(op, shape, size).run(context);
}
