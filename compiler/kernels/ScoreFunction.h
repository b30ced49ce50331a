// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What an attention's score region computes: a function of one sum over the features.
#pragma once

#include "dialect/AttnDialect.h"
#include "mlir/IR/IRMapping.h"

namespace attn {

/// score(q, k) = f(sum_e combine(q_e, k_e, vectors_e...)), where combine is the product, if nothing
/// else is said.
struct ScoreFunction {
  DotOp dot;
  bool isProduct; ///< dot(q, k)
  /// f(x) = factor * x; none where f is another function.
  std::optional<double> factor;
  /// The vectors other than query and key that the sum reads.
  llvm::SmallVector<ElementOp> vectors;

  /// Reads a score region. Reports an error at `op` where it is none of these functions.
  static mlir::FailureOr<ScoreFunction> of(mlir::Operation *op, mlir::Region &score);

  /// Clones f to the builder's insertion point; the score of a sum. `mapping` says what positions
  /// and captures are there.
  mlir::Value emit(mlir::Value sum, mlir::IRMapping &mapping, mlir::OpBuilder &builder);

  /// Fills `region` with combine; not for a product.
  void emitCombine(mlir::Region &region, mlir::OpBuilder &builder);
};

} // namespace attn
