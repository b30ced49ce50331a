// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The hooks of an attention for one pair of a query and a key: score, bias, cap, mask, sink.
#pragma once

#include "compiler/kernels/ScoreFunction.h"

namespace attn {

/// Writes the hooks of one attention, at the builder's insertion point.
class ScoreElements {
public:
  ScoreElements(AttentionKernelOp op, const ScoreFunction &score, mlir::OpBuilder &builder)
      : op(op), score(score), builder(builder) {}

  using Value = mlir::Value;

  /// The score of a sum over the features; `positions` are (batch..., m, s).
  Value raw(Value sum, mlir::ValueRange positions);
  Value biased(Value score, mlir::ValueRange positions);
  Value capped(Value score);
  /// All three.
  Value of(Value sum, mlir::ValueRange positions) {
    return capped(biased(raw(sum, positions), positions));
  }
  /// Whether a mask leaves the pair.
  Value isLive(mlir::ValueRange positions);
  /// The score of no key; `positions` are (batch..., m).
  Value sink(mlir::ValueRange positions);

  /// Whether there is a mask, or a sink.
  bool isMasked() { return !op.getMask().empty(); }
  bool hasSink() { return !op.getSink().empty(); }
  /// Whether positions have to be those of elements that there are.
  bool readsTensors();
  /// Whether scores are sums times a positive constant, so that the largest sum has the largest
  /// weight.
  bool isProportional();

private:
  AttentionKernelOp op;
  ScoreFunction score;
  mlir::OpBuilder &builder;
};

} // namespace attn
