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

/// A bias to what its parts say of a pair. `tables`: the op whose captures the region reads.
class BiasParts {
public:
  /// Code goes to the builder's insertion point, behind all ops of the bias.
  BiasParts(mlir::OpBuilder &builder, AttentionOp op) : builder(builder), op(op) {}

  /// Where `value`, a number that is added to a score, is not -inf. What it does not look through
  /// counts as live.
  Liveness liveWhere(mlir::Value value);
  /// What is left to add to the score of a live pair; null where nothing is.
  mlir::Value restOf(mlir::Value value);

  /// Tensors that a bias reads, and whose elements are not known when compiling.
  static llvm::SmallVector<ElementOp> unknownElements(mlir::Region &bias, AttentionOp op);
  /// A constant that a bias adds, and which is so low that a weight vanishes, though it is finite.
  static std::optional<double> lowConstant(mlir::Region &bias);
  /// The elements of the table that a tensor in a region of `op` is, or is the beginning of; null
  /// where it is none.
  static mlir::DenseFPElementsAttr tableOf(AttentionOp op, mlir::Value tensor);

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
  AttentionOp op;
};

} // namespace attn
