// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sizes that are known only when running, as remarks and counts of operations assume them: those
// that were asked for, else the bounds of their dims.
#pragma once

#include "compiler/transforms/OutlineKernel.h"
#include "compiler/transforms/SizePolynomial.h"
#include <optional>
#include <string>

namespace attn {

/// Writes the sizes to the arguments of a kernel's function, until it is destroyed. Of what is
/// computed in the caller, too; what cannot be known there has none.
class AssumedSizes {
public:
  explicit AssumedSizes(const OutlinedKernel &kernel);
  ~AssumedSizes();

  /// The size of a dim: that which was asked for, else its bound.
  static int64_t ofDim(DimOp dim);
  /// The size of an index inside of a function on pointers, the caller of kernels; none where it
  /// depends on what is not known.
  static std::optional<int64_t> inCaller(mlir::Value index);
  /// The size of an index inside of the function; none where it depends on what is not known.
  static std::optional<int64_t> of(mlir::Value index);
  /// The same, of dims that its arguments are, and numbers.
  static std::optional<SizePolynomial> polynomialOf(mlir::Value index);
  /// The product of the dims [begin, end) of a kernel's buffer.
  static std::optional<int64_t> product(mlir::Value buffer, int64_t begin, int64_t end);
  /// " at B = 4, T = 1024": of the function that an op is in. Empty where all is known.
  static std::string text(mlir::Operation *op);

private:
  mlir::func::FuncOp function;
};

} // namespace attn
