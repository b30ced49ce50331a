// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The operations that the formulas of row kernels are written with. Lanes go through a row
// together: on CPUs the lanes of vectors (compiler/cpu/vectors/RowVectors.h), on GPUs the threads
// of a warp (compiler/gpu/rows/WarpRow.h).
#pragma once

#include "compiler/kernels/FloatArithmetic.h"
#include "compiler/kernels/Loops.h"

namespace attn {

/// Where in a row the lanes are. On CPUs `column` is the column of the first lane, and only the
/// lanes of `mask` are in the row, or all lanes where it is null. On GPUs `column` is the column of
/// the thread itself, which is always in the row.
struct RowPlace {
  mlir::Value column, mask;
};

/// What each lane computes from its elements of a row: one or more values, such as a sum.
struct RowFold {
  /// The values of each lane.
  using State = llvm::SmallVector<mlir::Value>;

  /// The values before the first element.
  State start;
  /// The values after the elements at a place.
  llvm::function_ref<State(const RowPlace &, mlir::ValueRange)> step;
  /// The values of two sets of elements, of which the first set is in earlier columns or rows.
  llvm::function_ref<State(mlir::ValueRange, mlir::ValueRange)> join;
};

/// Emits code for the lanes at the builder's insertion point. A row is a `memref<?xf32>` of any
/// stride, or a memref of other elements. A value of the lanes is a vector on CPUs. It is a number
/// on GPUs, where every thread executes the same code.
class RowLanes {
public:
  using Value = mlir::Value;
  /// One value from two, of lanes or numbers.
  using Combine = llvm::function_ref<Value(Value, Value)>;

  RowLanes(mlir::OpBuilder &builder, mlir::Location loc)
      : index(builder, loc), math(builder, loc) {}
  virtual ~RowLanes();

  /// A row made ready to be read in a loop.
  virtual Value prepare(Value row) const = 0;
  /// The elements of a prepared row. Lanes outside of the row get `rest`, or 0 where `rest` is
  /// null.
  virtual Value load(Value row, const RowPlace &place, Value rest = {}) const = 0;
  /// Stores f32 as the elements that the row has, and other values as they are.
  virtual void store(Value value, Value row, const RowPlace &place) const = 0;
  /// Stores a number that is the same for all lanes.
  virtual void storeNumber(Value number, Value row, Value column) const = 0;
  /// Prefetches the elements that are `columns` behind a place, in the next row.
  virtual void prefetchNextRow(Value row, Value columns, const RowPlace &place) const {}

  /// Whether a value of the lanes is a vector.
  virtual bool areVectors() const = 0;
  /// A number in all lanes; an index becomes i32.
  virtual Value repeat(Value number) const = 0;
  /// The columns of the lanes, in i32.
  virtual Value columnsAt(const RowPlace &place) const = 0;
  /// Combines the values of all lanes to one number, by halves: the order is always the same.
  virtual Value acrossLanes(Value value, Combine combine) const = 0;
  /// The result of a region of one block for the elements of all lanes. Null after an error, which
  /// has been reported.
  virtual Value apply(mlir::Region &body, mlir::ValueRange elements) const = 0;

  /// Loops over the columns. On CPUs, `unroll` vectors are computed in one iteration.
  virtual void forEach(Value columns, int64_t unroll,
                       llvm::function_ref<void(const RowPlace &)> body) const = 0;
  /// Calls `body` with places that together are all columns, at most `most` vectors. CPUs call it
  /// once, so that loops inside of `body` keep the values of all places in registers.
  virtual void forPlaces(Value columns, int64_t most,
                         llvm::function_ref<void(llvm::ArrayRef<RowPlace>)> body) const = 0;
  /// Loops over the columns, and returns the values of the lanes, joined to the values `before` of
  /// earlier rows where these are given. CPUs compute `unroll` independent sets of values.
  virtual RowFold::State fold(Value columns, int64_t unroll, const RowFold &fold,
                              mlir::ValueRange before = {}) const = 0;

  /// fold() of one value for each lane, whose sets are combined as these values are.
  Value fold(Value columns, int64_t unroll, Value start, Combine combine,
             llvm::function_ref<Value(const RowPlace &, Value)> step) const;
  Value sumOfLanes(Value value) const;
  /// `value` in the lanes that are in the row, else `rest`.
  Value inRow(const RowPlace &place, Value value, Value rest) const;
  /// load() in f32.
  Value loadFloats(Value row, const RowPlace &place, Value rest = {}) const;
  /// An element of a row in f32, the same for all lanes.
  Value loadNumber(Value row, Value column) const;
  /// A constant of f32. An index in f32, which is a constant where the index is one.
  Value number(double value) const;
  Value asFloat(Value count) const;

  IndexBuilder index;
  FloatArithmetic math;
};

} // namespace attn
