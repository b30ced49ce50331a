// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a linear's tile does in one step of k, for each precision of its panels. `a` are the rows'
// elements, `w` the panel's, of as many neighbours along k as make up four bytes:
//   f32    sum += a * w
//   f16    sum = fma(a[1], w[1], fma(a[0], w[0], sum)), w widened to f32
//   bf16   the same; of rows in bf16 what vdpbf16ps makes of it, denormals being zero
//   int8   sum += a[0] * w[0] + ... + a[3] * w[3] in i32: exact, so in whatever order
//   int4   the same of 32 elements by themselves; sum += scale * theirs in f32
#pragma once

#include "compiler/kernels/LinearShape.h"
#include "compiler/kernels/Loops.h"
#include "compiler/target/CpuTarget.h"

namespace attn {

/// Writes the products of one linear kernel, for a CPU level and a precision.
class LinearProducts {
public:
  LinearProducts(IndexBuilder index, const CpuTarget &target, Precision precision)
      : index(index), target(target), precision(precision) {}

  /// The type of a vector of sums: f32, or i32 for int8.
  mlir::VectorType sumType() const;

  /// Adds a step's products to sums[rows][vectors]. `rows` are views of the rows' contracted dims,
  /// `ks` the position of the step's first element in them; `weights` is the place of the step's
  /// first weight in `panels`.
  void step(llvm::ArrayRef<mlir::Value> rows, llvm::ArrayRef<mlir::Value> ks, mlir::Value panels,
            mlir::Value weights, llvm::MutableArrayRef<mlir::Value> sums) const;

  /// Adds the products of the steps whose weights share a scale, for int4: `k` and `weights` are
  /// the place of the first step, whose weights are followed by those of the next step after
  /// `pitch` elements; `scale` is the place of the first column's scale in `scales`.
  void scaledSteps(llvm::ArrayRef<mlir::Value> rows, mlir::Value k, mlir::Value panels,
                   mlir::Value weights, int64_t pitch, mlir::Value scales, mlir::Value scale,
                   llvm::MutableArrayRef<mlir::Value> sums) const;

  /// Widens a step's weights, from `place` of `panels` on, to as many steps of f32 from `to` on of
  /// `widened`.
  void widen(mlir::Value panels, mlir::Value place, mlir::Value widened, mlir::Value to) const;

private:
  /// A vector for each vector of columns.
  using Values = llvm::SmallVector<mlir::Value>;

  /// The step's weights, a vector of four bytes for each column.
  Values load(mlir::Value panels, mlir::Value weights, size_t vectors) const;
  /// An element of a row in all lanes.
  mlir::Value repeated(mlir::Value row, llvm::ArrayRef<mlir::Value> ks, int64_t offset) const;
  /// Four bytes of a row in all lanes.
  mlir::Value repeatedBytes(mlir::Value row, mlir::Value k) const;
  void multiplyFloats(llvm::ArrayRef<mlir::Value> rows, llvm::ArrayRef<mlir::Value> ks,
                      llvm::ArrayRef<Values> weights,
                      llvm::MutableArrayRef<mlir::Value> sums) const;
  void multiplyPairs(llvm::ArrayRef<mlir::Value> rows, mlir::Value k, const Values &weights,
                     llvm::MutableArrayRef<mlir::Value> sums) const;
  void multiplyBytes(llvm::ArrayRef<mlir::Value> rows, mlir::Value k, mlir::ValueRange weights,
                     llvm::MutableArrayRef<mlir::Value> sums) const;
  /// A vector of scales of int4, as f32.
  mlir::Value loadScales(mlir::Value scales, mlir::Value place) const;
  /// The even or odd ones of words of two halves, in f32.
  mlir::Value widened(mlir::Value words, bool isOdd) const;
  mlir::Value call(mlir::VectorType type, llvm::StringRef name, mlir::ValueRange operands) const;
  mlir::VectorType integers() const; ///< i32
  mlir::Value bitcast(mlir::Value vector, int64_t lanes, mlir::Type element) const;

  IndexBuilder index;
  const CpuTarget &target;
  Precision precision;
};

} // namespace attn
