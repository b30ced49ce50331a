// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// tiled -> kernels, attention: VectorizeAttention.cpp the tiles of every attention,
// VectorizeSoftmax.cpp their weights, VectorizePairs.cpp those of products of bf16,
// VectorizeTensors.cpp what their hooks read, VectorizeReturned.cpp the tiles of what is returned
// beside the output.
#pragma once

#include "compiler/cpu/attention/Attention.h"
#include "compiler/cpu/vectors/BfloatPairs.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"

namespace attn {

/// Rows of the statistics.
enum Statistic : int64_t { Maximum, Sum, Factor, MaximumBefore };

/// What a score reads of a tensor whose last axis is the keys', [..., query, ..., key].
struct RowRead {
  ElementOp element;
  llvm::SmallVector<mlir::Value> position; ///< of the tile's first query and key
  size_t queryAxis;
};

/// Emits vector code in the place of one tile.
class TileEmitter {
public:
  TileEmitter(mlir::Operation *op, const CpuTarget &target)
      : target(target), builder(op), loc(op->getLoc()), index(builder, loc),
        vectorType(mlir::VectorType::get({target.lanes}, builder.getF32Type())),
        pairs(builder, loc, target) {}

  mlir::LogicalResult emit(RangeTileOp op);
  mlir::LogicalResult emit(QueryTileOp op);
  mlir::LogicalResult emit(ResetTileOp op);
  mlir::LogicalResult emit(ScoreTileOp op);
  mlir::LogicalResult emit(SoftmaxTileOp op);
  mlir::LogicalResult emit(StoreTileOp op);
  mlir::LogicalResult emit(WeightRowsOp op);
  mlir::LogicalResult emit(LseTileOp op);
  mlir::LogicalResult emit(PackTileOp op);
  mlir::LogicalResult emit(ValueTileOp op);
  mlir::LogicalResult emit(OutputTileOp op);
  mlir::LogicalResult emit(RoundKeysTileOp op);
  mlir::LogicalResult emit(TurnValuesTileOp op);
  mlir::LogicalResult emit(PairTileOp op);
  mlir::LogicalResult emit(FactorTileOp op);
  mlir::LogicalResult emit(RescaleTileOp op);

private:
  int64_t vectorsOf(int64_t elements) const { return llvm::divideCeil(elements, target.lanes); }
  mlir::Value plus(mlir::Value from, int64_t offset) const {
    return offset == 0 ? from : index.add(from, index.constant(offset));
  }
  mlir::Value constant(double value);
  /// `lanes` elements of a row, of which only `valid` ones are touched; bits of bf16 are widened.
  mlir::Value load(mlir::Value matrix, mlir::Value row, mlir::Value column, int64_t valid,
                   int64_t lanes);
  mlir::Value load(mlir::Value matrix, mlir::Value row, mlir::Value column, int64_t valid) {
    return load(matrix, row, column, valid, target.lanes);
  }
  mlir::Value load(mlir::Value matrix, mlir::Value row, mlir::Value column) {
    return load(matrix, row, column, target.lanes);
  }
  void store(mlir::Value vector, mlir::Value matrix, mlir::Value row, mlir::Value column,
             int64_t valid);
  void store(mlir::Value vector, mlir::Value matrix, mlir::Value row, mlir::Value column) {
    store(vector, matrix, row, column, target.lanes);
  }
  /// Brings columns [column, column + size) of a row into the first-level cache.
  void prefetch(mlir::Value matrix, mlir::Value row, mlir::Value column, int64_t size,
                bool isWrite = false);
  mlir::Value mask(int64_t valid, int64_t lanes);
  mlir::Value broadcast(mlir::Value matrix, mlir::Value row, mlir::Value column);
  mlir::Value multiplyAdd(mlir::Value a, mlir::Value b, mlir::Value sum) {
    return mlir::math::FmaOp::create(builder, loc, a, b, sum);
  }
  /// Positions of vector w of the queries, lanes beyond the last repeating it.
  mlir::Value queryPositions(mlir::Value first, mlir::Value last, int64_t w);
  void appendPositions(ScoreTileOp op, mlir::Value row, int64_t w,
                       llvm::SmallVectorImpl<mlir::Value> &arguments);
  mlir::Value scoreOf(ScoreTileOp op, mlir::Value sum, mlir::Value row, int64_t w,
                      const llvm::DenseMap<mlir::Operation *, mlir::Value> &read);
  mlir::Value keyPositions(mlir::Value key);
  llvm::SmallVector<RowRead> rowReads(ScoreTileOp op);
  void prefetchRow(const RowRead &read, ScoreTileOp op, mlir::Value query);
  llvm::SmallVector<mlir::Value> readRows(const RowRead &read, ScoreTileOp op);
  mlir::Value widened(mlir::Value vector);
  mlir::Value joined(llvm::ArrayRef<mlir::Value> parts);
  mlir::Value firstLargest(mlir::Value rows, mlir::Value row, mlir::Value keys,
                           mlir::Value maximum);
  mlir::LogicalResult emitHardmax(SoftmaxTileOp op);
  void takeMaxima(mlir::Value statistics, llvm::ArrayRef<mlir::Value> lanes);
  void weighMore(mlir::Value strip, mlir::Value statistics, mlir::Value key, mlir::Value lane);
  void raiseMaxima(ScoreTileOp op, llvm::ArrayRef<mlir::Value> lanes,
                   llvm::ArrayRef<mlir::Value> before, llvm::ArrayRef<mlir::Value> maxima);
  void weighPairs(SoftmaxTileOp op, llvm::ArrayRef<mlir::Value> lanes,
                  llvm::ArrayRef<mlir::Value> maxima, llvm::MutableArrayRef<mlir::Value> sums);
  void emitTurned(OutputTileOp op);
  mlir::Value turnSquare(TurnValuesTileOp op, mlir::Value firstWord, bool isWhole,
                         mlir::Value areFinite);
  void multiplyInTiles(PairTileOp op);
  void multiplyInVectors(PairTileOp op);
  mlir::Value larger(mlir::Value a, mlir::Value b);
  mlir::Value isBeyond(mlir::Value before, mlir::Value maximum);
  mlir::Value keptMaximum(mlir::Value before, mlir::Value maximum);
  mlir::Value inverse(mlir::Value sum);
  void transpose(llvm::MutableArrayRef<mlir::Value> rows);
  void transposeQueries(QueryTileOp op, llvm::ArrayRef<mlir::Value> rows, mlir::Value feature,
                        int64_t valid);
  llvm::SmallVector<mlir::Value>
  sumLoop(mlir::Value from, mlir::Value to, mlir::ValueRange inits,
          llvm::function_ref<void(mlir::Value, llvm::MutableArrayRef<mlir::Value>)> step);
  llvm::SmallVector<mlir::Value>
  sumLoop(mlir::Value to, mlir::ValueRange inits,
          llvm::function_ref<void(mlir::Value, llvm::MutableArrayRef<mlir::Value>)> step) {
    return sumLoop(index.constant(0), to, inits, step);
  }

  /// What is summed over steps: rows of scalars times vectors.
  struct RowProducts {
    int64_t rows;
    llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value step)> vectorsAt;
    llvm::function_ref<void(mlir::Value step, int64_t row, llvm::ArrayRef<mlir::Value> vectors,
                            llvm::MutableArrayRef<mlir::Value> sums)>
        add;
    llvm::function_ref<void(int64_t row, llvm::ArrayRef<mlir::Value> sums)> finish;
  };
  void sumProducts(mlir::Value from, mlir::Value to, llvm::SmallVector<mlir::Value> sums,
                   const RowProducts &products, bool rowByRow = true);
  mlir::Value weighAbove(ScoreTileOp op, llvm::ArrayRef<mlir::Value> lanes,
                         const RowProducts &products, llvm::SmallVector<mlir::Value> &sums);

  const CpuTarget &target;
  mlir::OpBuilder builder;
  mlir::Location loc;
  IndexBuilder index;
  mlir::VectorType vectorType;
  BfloatPairs pairs;
};

} // namespace attn
