// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a kernel computes and moves, as profiles show it.
#pragma once

#include "compiler/transforms/SizePolynomial.h"
#include "dialect/AttnDialect.h"

namespace attn {

struct KernelCost {
  std::string title;    ///< "linear 768 -> 3072"
  SizePolynomial flop;  ///< two per multiply-add; masked pairs count, too
  SizePolynomial bytes; ///< operands and results once each

  /// Of the kernel that an op on tensors becomes.
  static KernelCost of(ComputeOpInterface op);
  static KernelCost ofNorm(mlir::RankedTensorType normed, mlir::Value gamma);
  /// Of rows in bf16, and as bytes.
  static KernelCost ofRounding(mlir::RankedTensorType rows);
  static KernelCost ofQuantization(mlir::RankedTensorType rows, mlir::Type stored);
  static KernelCost ofNormedBytes(mlir::RankedTensorType rows, mlir::Value gamma);
  static KernelCost ofCopy(const SizePolynomial &elements, mlir::Type element);
  /// Of combining what became of the parts of a head's keys, in `bytes` of memory.
  static KernelCost ofCombination(const SizePolynomial &bytes);
};

} // namespace attn
