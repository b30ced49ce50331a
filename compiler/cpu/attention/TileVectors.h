// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the vector code of an attention's tiles is written with: loads and stores of rows, sums that
// stay in registers, squares that are transposed. A tile has queries in the lanes, [..][query], or
// features, [query][feature].
#pragma once

#include "compiler/cpu/attention/AtPlace.h"
#include "compiler/cpu/attention/Attention.h"
#include "compiler/cpu/vectors/BfloatPairs.h"
#include "dialect/Locations.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Builders.h"

namespace attn {

/// Rows of the statistics, [4][query].
enum Statistic : int64_t { Maximum, Sum, Factor, MaximumBefore };

/// What is summed over steps: rows of scalars times vectors.
struct RowProducts {
  int64_t rows;
  /// The vectors of a step, which all rows share.
  llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value step)> vectorsAt;
  /// Adds a row's products of a step to sums [row][vector].
  llvm::function_ref<void(mlir::Value step, int64_t row, llvm::ArrayRef<mlir::Value> vectors,
                          llvm::MutableArrayRef<mlir::Value> sums)>
      add;
  /// Stores a row's sums.
  llvm::function_ref<void(int64_t row, llvm::ArrayRef<mlir::Value> sums)> finish;
};

/// Writes vector code in the place of one tile. Rows are those of matrices, memrefs of rank 2.
struct TileVectors {
  TileVectors(mlir::Operation *tile, const CpuTarget &target)
      : target(target), builder(tile), loc(tile->getLoc()), index(builder, loc),
        vectorType(mlir::VectorType::get({target.lanes}, builder.getF32Type())),
        pairs(builder, loc, target) {}

  /// While the result lives, what is written, pairs aside, is for a term or at a place.
  AtPlace writeFor(AttentionTerm term) { return writeAt(atTerm(loc, term)); }
  AtPlace writeAt(mlir::Location place) { return AtPlace({&loc, &index.loc}, place); }

  /// How many vectors hold so many elements.
  int64_t vectorsOf(int64_t elements) const { return llvm::divideCeil(elements, target.lanes); }
  mlir::Value plus(mlir::Value from, int64_t offset) const {
    return offset == 0 ? from : index.add(from, index.constant(offset));
  }
  /// A number in all lanes.
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
  /// An element of a matrix in all lanes.
  mlir::Value broadcast(mlir::Value matrix, mlir::Value row, mlir::Value column);
  /// Stores the first `valid` lanes, at most all; to bits of bf16, rounded.
  void store(mlir::Value vector, mlir::Value matrix, mlir::Value row, mlir::Value column,
             int64_t valid);
  void store(mlir::Value vector, mlir::Value matrix, mlir::Value row, mlir::Value column) {
    store(vector, matrix, row, column, target.lanes);
  }
  /// Brings columns [column, column + size) of a row into the first-level cache.
  void prefetch(mlir::Value matrix, mlir::Value row, mlir::Value column, int64_t size,
                bool isWrite = false);
  /// The first `valid` of `lanes` lanes.
  mlir::Value mask(int64_t valid, int64_t lanes);

  /// a * b + sum, rounded once.
  mlir::Value multiplyAdd(mlir::Value a, mlir::Value b, mlir::Value sum) {
    return mlir::math::FmaOp::create(builder, loc, a, b, sum);
  }
  /// `b` where one of them is NaN: one instruction. NaNs come back with exp2(NaN - maximum).
  mlir::Value larger(mlir::Value a, mlir::Value b);
  /// 1 / sum of a query's weights, a scalar; 0 where there are none.
  mlir::Value inverse(mlir::Value sum);
  /// What a tile's scores times is an exponent of 2: its `unit`, else 1.
  static double unitOf(mlir::Operation *tile);
  /// exp2(unit * (score - maximum)); `isRough` as expandRoughExp2.
  mlir::Value weightOf(mlir::Value score, mlir::Value maximum, double unit, bool isRough = false);
  /// Where a maximum grew by so much that weights would do harm: not while they are 2^8 at most, so
  /// that what has been summed is rescaled seldom. `unit` times a score is an exponent of 2.
  mlir::Value isBeyond(mlir::Value before, mlir::Value maximum, double unit);
  /// The maximum that weights are computed with: the one before, unless it is beyond.
  mlir::Value keptMaximum(mlir::Value before, mlir::Value maximum, double unit);
  /// Positions of vector w of the queries, lanes beyond the last repeating it.
  mlir::Value queryPositions(mlir::Value first, mlir::Value last, int64_t w);

  /// for (i = from; i < to; ++i) step(i, accumulators), with the accumulators in registers.
  llvm::SmallVector<mlir::Value>
  sumLoop(mlir::Value from, mlir::Value to, mlir::ValueRange inits,
          llvm::function_ref<void(mlir::Value, llvm::MutableArrayRef<mlir::Value>)> step);
  llvm::SmallVector<mlir::Value>
  sumLoop(mlir::Value to, mlir::ValueRange inits,
          llvm::function_ref<void(mlir::Value, llvm::MutableArrayRef<mlir::Value>)> step) {
    return sumLoop(index.constant(0), to, inits, step);
  }
  /// Sums [row][vector] over steps [from, to), in registers, and then finish(row). The last steps
  /// are done `rowByRow`: what finish stores, a vector in two cycles, goes out between products
  /// then, not all at once.
  void sumProducts(mlir::Value from, mlir::Value to, llvm::SmallVector<mlir::Value> sums,
                   const RowProducts &products, bool rowByRow = true);
  /// Transposes squares of as many lanes as there are vectors.
  void transpose(llvm::MutableArrayRef<mlir::Value> rows);

  const CpuTarget &target;
  mlir::OpBuilder builder; ///< Before the tile.
  mlir::Location loc;
  IndexBuilder index;
  mlir::VectorType vectorType; ///< All lanes of f32.
  BfloatPairs pairs;
};

} // namespace attn
