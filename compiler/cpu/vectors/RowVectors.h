// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A row of a buffer, vector by vector.
#pragma once

#include "compiler/kernels/Loops.h"
#include "compiler/target/CpuTarget.h"
#include "dialect/AttnDialect.h"
#include "mlir/IR/BuiltinTypes.h"

namespace attn {

/// Where in a row a vector lies: from `column` on; of its lanes only those of `mask` are in the
/// row, all where it is null.
struct VectorPlace {
  mlir::Value column, mask;
};

/// `lanes` elements that lie side by side, of f32, f16 or the bits of bf16, in f32; those outside
/// of `mask` are not read, but 0.
mlir::Value loadFloats(IndexBuilder index, mlir::Value buffer, mlir::ValueRange place,
                       int64_t lanes, mlir::Value mask);

/// Reads and writes vectors of rows, `memref<?xf32>` (or of other elements) of any stride: a stride
/// of 0 repeats one element, others than 1 are gathered and scattered.
class RowVectors {
public:
  RowVectors(mlir::OpBuilder &builder, mlir::Location loc, const CpuTarget &target)
      : index(builder, loc), target(target),
        type(mlir::VectorType::get({target.lanes}, builder.getF32Type())) {}

  /// A row made ready to be read in a loop: the element itself where it is repeated.
  mlir::Value prepare(mlir::Value row) const;
  /// A vector of a prepared row; lanes outside of it are those of `rest`, 0 where that is null.
  mlir::Value load(mlir::Value row, const VectorPlace &place, mlir::Value rest = {}) const;
  /// Asks for what lies `columns` behind a vector of a row: that of the next row, or one near it
  /// where rows are further apart.
  void prefetchNextRow(mlir::Value row, mlir::Value columns, const VectorPlace &place) const;
  /// Stores a vector of f32; a row of i16 gets the bits of bf16.
  void store(mlir::Value vector, mlir::Value row, const VectorPlace &place) const;
  /// A vector's lanes combined to one: halves, quarters and so on, always in this order.
  mlir::Value acrossLanes(mlir::Value vector,
                          llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> combine) const;
  mlir::Value sumOfLanes(mlir::Value vector) const;
  /// A vector of zeros, of f32.
  mlir::Value zero() const;

  /// Loops over `columns` columns by vectors, `unroll` of them at a time as long as there are, the
  /// last one masked. `body` gives the new values of what it is given; the loop starts `unroll` of
  /// each of these at `inits`, one for each vector of a round, and returns them one after the
  /// other: those of the first vector, those of the second, ...
  llvm::SmallVector<mlir::Value> forEachVector(
      mlir::Value columns, int64_t unroll, llvm::ArrayRef<mlir::Value> inits,
      llvm::function_ref<llvm::SmallVector<mlir::Value>(const VectorPlace &, mlir::ValueRange)>
          body) const;

  /// The vectors of a row of at most `most` of them, each masked where it may end beyond.
  llvm::SmallVector<VectorPlace> placesIn(mlir::Value columns, int64_t most) const;

  IndexBuilder index;
  const CpuTarget &target;
  mlir::VectorType type;

private:
  /// The elements from `column` on as a buffer of stride 1, and the place of each lane in it.
  std::pair<mlir::Value, mlir::Value> apart(mlir::Value row, mlir::Value column) const;
  mlir::Value maskOrAll(mlir::Value mask) const;
  /// The first `count` lanes, null where that are certainly all.
  mlir::Value firstLanes(mlir::Value count) const;
};

/// The distance of a row's elements; nothing where it is known only when running.
std::optional<int64_t> strideOf(mlir::Value row);

} // namespace attn
