// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What becomes of a linear's sums:
//   out[r][v] = epilogue(sums[r][v] + bias[v], captures[r][v]...)
// Sums of int8 become floats first: (sum - zero[r] * columnSum[v]) * scale[r] * scale[v]. Those of
// groups are floats, with the columns' scales in them, and those of half bytes 16 times what they
// should be. An `out` of i16 are the bits of bf16.
#pragma once

#include "compiler/cpu/linear/RowViews.h"
#include "compiler/target/CpuTarget.h"
#include "dialect/WeightFormat.h"

namespace attn {

/// Makes a linear's outputs of its sums, and stores them.
class LinearEpilogue {
public:
  /// The epilogue of a tile op that has operands as attn.linear_tile has them.
  template <typename TileOp>
  LinearEpilogue(IndexBuilder index, TileOp op, const CpuTarget &target)
      : index(index), target(target), lanes(target.lanes), bias(op.getBias()), out(op.getOut()),
        captures(op.getCaptures()), quantization(op.getQuantization()), function(op.getEpilogue()) {
    if constexpr (std::is_same_v<TileOp, LinearTileOp>)
      areSixteenfold = formatOf(op.getPrecision()).isOfHalfBytes();
  }

  /// Finishes and stores sums[rows][vectors], those of `rows` rows from `row` on and of `count`
  /// columns from `column` on. Fails after an error has been reported.
  mlir::LogicalResult finish(llvm::ArrayRef<mlir::Value> sums, mlir::Value row, int64_t rows,
                             mlir::Value column, int64_t count) const;

private:
  /// What a product of int8 is worth in a row, in all lanes.
  struct RowQuantization {
    mlir::Value scale, zero; ///< zero of the columns' sums' type
  };
  /// What a product of int8 is worth in a vector of columns.
  struct ColumnQuantization {
    mlir::Value scales, sums; ///< of weights: in i32, or in f32 without scales
  };
  /// The scale and the zero of each row.
  llvm::SmallVector<RowQuantization> rowQuantizations(RowViews rows) const;
  /// The float that a sum of products of bytes stands for.
  mlir::Value dequantized(mlir::Value sum, const RowQuantization &row,
                          const ColumnQuantization &columns) const;
  /// What is stored for a sum; null after an error.
  mlir::Value outputFor(mlir::Value sum, mlir::Value bias,
                        llvm::ArrayRef<mlir::Value> captured) const;

  IndexBuilder index;
  const CpuTarget &target;
  int64_t lanes;
  mlir::Value bias, out;
  mlir::ValueRange captures, quantization;
  bool areSixteenfold = false; ///< sums
  mlir::Region &function;
};

} // namespace attn
