// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a kernel computes and moves, as profiles show it.
#pragma once

#include "compiler/transforms/SizePolynomial.h"
#include "dialect/AttnDialect.h"

namespace attn {

/// A norm of the last axes of a tensor, alone or in front of a linear.
struct RowNorm {
  NormAttr norm;
  mlir::Value weight, bias; ///< tensors over these axes, or null
  int64_t axes;

  /// The norm of an op; a linear must have one.
  static RowNorm of(NormOp op);
  static RowNorm of(LinearOp op);
};

/// The title of a kernel, with the operations and bytes of a call.
struct KernelCost {
  std::string title;    ///< "linear 768 -> 3072"
  SizePolynomial flop;  ///< two per multiply-add; masked pairs count, too
  SizePolynomial bytes; ///< operands and results once each

  /// The cost of the kernel that an op on tensors becomes.
  static KernelCost of(ComputeOpInterface op);
  /// The cost of a norm by itself.
  static KernelCost ofNorm(mlir::RankedTensorType normed, const RowNorm &norm);
  /// The costs of rounding rows to bf16, and of making bytes of them.
  static KernelCost ofRounding(mlir::RankedTensorType rows);
  static KernelCost ofQuantization(mlir::RankedTensorType rows, mlir::Type stored);
  static KernelCost ofNormedBytes(mlir::RankedTensorType rows, const RowNorm &norm);
  static KernelCost ofCopy(const SizePolynomial &elements, mlir::Type element);
  /// The cost of combining what became of the parts of a head's keys, in `bytes` of memory.
  static KernelCost ofCombination(const SizePolynomial &bytes);
};

} // namespace attn
