// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the kernels of a few queries share: the state that is kept for each query, and how the
// output comes of it.
#pragma once

#include "compiler/cpu/attention/AtPlace.h"
#include "compiler/cpu/attention/Attention.h"
#include "compiler/transforms/FewQueries.h"
#include "dialect/Locations.h"

namespace attn {

/// Builds the arithmetic on one query's state, at the builder's insertion point.
class FewQueriesEmitter {
protected:
  FewQueriesEmitter(mlir::Operation *op, mlir::Value out, const CpuTarget &target);
  using Value = mlir::Value;

  /// Vectors that hold so many columns.
  int64_t vectorsOf(int64_t columns) const { return llvm::divideCeil(columns, lanes); }
  /// The sizes of a query's state.
  FewQueriesShape shape() const { return {lanes, valueFeatures}; }

  /// Arithmetic on vectors of f32; `larger` is NaN where one side is.
  Value constant(double value);
  Value larger(Value a, Value b);
  Value sum(Value a, Value b);
  Value product(Value a, Value b);
  Value fma(Value a, Value b, Value c);
  /// `combine` of all lanes, in all lanes.
  Value acrossLanes(Value vector, llvm::function_ref<Value(Value, Value)> combine);
  /// What exp is taken relative to: `largest`, or anything finite where no key has been live.
  Value reference(Value largest);
  /// exp(score - reference)
  Value weightOf(Value score, Value reference);

  /// What a query's state consists of: sums of values, the sum of weights, the largest score.
  enum class Part { Sums, Total, Largest };
  /// The place of `part` of a query's state among the states of all queries.
  Value placeOf(Part part, Value query, int64_t offset);
  /// Reads and writes a vector of such a part.
  Value load(Value states, Part part, Value query, int64_t offset = 0);
  void store(Value vector, Value states, Part part, Value query, int64_t offset = 0);

  /// The output of a query, in the matrix `out`: its sums over the sum of its weights, 0 where it
  /// has no live key.
  void finish(Value total, llvm::ArrayRef<Value> sums, Value out, Value query);

  /// The matrix [rows, features] of a head, which `batch` are the indices of.
  Value headOf(Value buffer, llvm::ArrayRef<Value> batch);
  /// Reads and writes vector `number` of a row's features; those beyond `columns` are 0, and are
  /// not written.
  Value loadFeatures(Value matrix, Value at, int64_t vector, int64_t columns);
  void storeFeatures(Value vector, Value matrix, Value at, int64_t number, int64_t columns);

  /// While the result lives, ops are for a term of the attention.
  AtPlace writeFor(AttentionTerm term) { return AtPlace({&loc, &index.loc}, atTerm(loc, term)); }

  mlir::OpBuilder builder;
  IndexBuilder index;
  mlir::Location loc;
  int64_t lanes, queries, valueFeatures;
  mlir::VectorType row;
  Value zero;

private:
  /// The mask of the lanes of vector `number` of a row that lie within `columns`; null where all
  /// do.
  Value lanesOf(int64_t number, int64_t columns);
};

} // namespace attn
