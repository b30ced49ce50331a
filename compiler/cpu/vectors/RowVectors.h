// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A row of a buffer, vector by vector.
#pragma once

#include "compiler/kernels/rows/RowLanes.h"
#include "compiler/target/CpuTarget.h"
#include "dialect/AttnDialect.h"
#include "mlir/IR/BuiltinTypes.h"

namespace attn {

/// `lanes` elements that lie side by side, of f32, f16 or the bits of bf16, in f32; those outside
/// of `mask` are not read, but 0.
mlir::Value loadFloats(IndexBuilder index, mlir::Value buffer, mlir::ValueRange place,
                       int64_t lanes, mlir::Value mask);

/// The lanes of a CPU's vectors. A stride of 0 repeats one element, others than 1 are gathered and
/// scattered.
class RowVectors : public RowLanes {
public:
  RowVectors(mlir::OpBuilder &builder, mlir::Location loc, const CpuTarget &target)
      : RowLanes(builder, loc), target(target),
        type(mlir::VectorType::get({target.lanes}, builder.getF32Type())) {}

  /// The element itself where it is repeated.
  Value prepare(Value row) const override;
  Value load(Value row, const RowPlace &place, Value rest = {}) const override;
  /// A row of i16 gets the bits of bf16.
  void store(Value vector, Value row, const RowPlace &place) const override;
  void storeNumber(Value number, Value row, Value column) const override;
  /// What is asked for is that of the next row, or near it where rows are further apart.
  void prefetchNextRow(Value row, Value columns, const RowPlace &place) const override;

  bool areVectors() const override { return true; }
  Value repeat(Value number) const override;
  Value columnsAt(const RowPlace &place) const override;
  Value acrossLanes(Value vector, Combine combine) const override;
  Value apply(mlir::Region &body, mlir::ValueRange elements) const override;

  void forEach(Value columns, int64_t unroll,
               llvm::function_ref<void(const RowPlace &)> body) const override;
  /// Each place is masked where it may end beyond.
  void forPlaces(Value columns, int64_t most,
                 llvm::function_ref<void(llvm::ArrayRef<RowPlace>)> body) const override;
  using RowLanes::fold;
  RowFold::State fold(Value columns, int64_t unroll, const RowFold &fold,
                      mlir::ValueRange before = {}) const override;

  /// A vector of zeros, of f32.
  Value zero() const;

  const CpuTarget &target;
  mlir::VectorType type;

private:
  /// Loops over `columns` columns by vectors, `unroll` of them at a time as long as there are, the
  /// last one masked. `body` gives the new values of what it is given; the loop starts `unroll` of
  /// each of these at `inits`, one for each vector of a round, and returns them one after the
  /// other: those of the first vector, those of the second, ...
  llvm::SmallVector<Value> forEachVector(
      Value columns, int64_t unroll, llvm::ArrayRef<Value> inits,
      llvm::function_ref<llvm::SmallVector<Value>(const RowPlace &, mlir::ValueRange)> body) const;

  /// The elements from `column` on as a buffer of stride 1, and the place of each lane in it.
  std::pair<Value, Value> apart(Value row, Value column) const;
  Value maskOrAll(Value mask) const;
  /// The first `count` lanes, null where that are certainly all.
  Value firstLanes(Value count) const;
};

/// The distance of a row's elements; nothing where it is known only when running.
std::optional<int64_t> strideOf(mlir::Value row);

} // namespace attn
