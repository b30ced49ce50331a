// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where a bias is -inf: a pair has no weight there, whatever its score.
#pragma once

#include "dialect/AttnDialect.h"
#include "mlir/IR/Builders.h"

namespace attn {

/// When a pair is live: always, never, or where a truth value holds.
struct Liveness {
  /// Whether it is the same for all pairs.
  enum Kind { Always, Never, When } kind = Always;
  mlir::Value when; ///< i1, of When alone

  /// Where a truth value holds.
  static Liveness where(mlir::Value when) { return {When, when}; }
};

/// A bias to what its parts say of a pair.
class BiasParts {
public:
  /// Code goes to the builder's insertion point, behind all ops of the bias.
  explicit BiasParts(mlir::OpBuilder &builder) : builder(builder) {}

  /// Where `value`, a number that is added to a score, is not -inf. What it does not look through
  /// counts as live.
  Liveness liveWhere(mlir::Value value);
  /// What is left to add to the score of a live pair; null where nothing is.
  mlir::Value restOf(mlir::Value value);

  /// Elements that a bias reads of tensors which may hold -inf: of neither tables nor parameters.
  static llvm::SmallVector<ElementOp> unknownElements(mlir::Region &bias, AttentionOp op);
  /// A constant that a bias adds, and which is so low that a weight vanishes, though it is finite.
  static std::optional<double> lowConstant(mlir::Region &bias);

private:
  /// Where both, or one of them, are live, or that which a condition chooses.
  Liveness both(Liveness a, Liveness b);
  Liveness either(Liveness a, Liveness b);
  Liveness choose(mlir::Value condition, Liveness yes, Liveness no);
  /// Where a number is not 0, whose logarithm is -inf.
  Liveness isNotZero(mlir::Value value);
  /// Where a truth value does not hold.
  mlir::Value negate(mlir::Value truth);

  mlir::OpBuilder &builder;
};

} // namespace attn
