// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What an attention's score region computes, as a function of the inner product of query and key.
#pragma once

#include "dialect/AttnDialect.h"

namespace attn {

/// score(q, k) = f(dot(q, k)).
struct ScoreFunction {
  DotOp dot;
  /// f(x) = factor * x; none where f is another function.
  std::optional<double> factor;

  /// Reads a score region. Reports an error at `op` where it is no function of one inner product.
  static mlir::FailureOr<ScoreFunction> of(mlir::Operation *op, mlir::Region &score);

  /// Clones f to the builder's insertion point; the score of an inner product.
  mlir::Value emit(mlir::Value product, mlir::OpBuilder &builder);
};

} // namespace attn
