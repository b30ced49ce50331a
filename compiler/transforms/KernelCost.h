// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a kernel computes and moves, as profiles show it.
#pragma once

#include "compiler/transforms/SizePolynomial.h"
#include "dialect/AttnDialect.h"

namespace attn {

/// What a scalar function does, constants aside: in the spec's words, "gelu" or "x + ...", where
/// its ops have them (dialect/Locations.h), else "mulf", "conversion to f16".
llvm::SmallVector<std::string> wordsOf(mlir::Region &region);

/// The title of a kernel, with the operations and bytes of a call.
struct KernelCost {
  std::string title;    ///< "linear 768 -> 3072"
  SizePolynomial flop;  ///< two per multiply-add; masked pairs count, too
  SizePolynomial bytes; ///< operands and results once each

  /// The cost of the kernel that an op on tensors becomes.
  static KernelCost of(mlir::Operation *op);
  /// The cost of a norm by itself, whose features are those of `gamma`.
  static KernelCost ofNorm(mlir::RankedTensorType normed, mlir::Value gamma);
  /// The costs of rounding rows to bf16, and of making bytes of them.
  static KernelCost ofRounding(mlir::RankedTensorType rows);
  static KernelCost ofQuantization(mlir::RankedTensorType rows, mlir::Type stored);
  static KernelCost ofNormedBytes(mlir::RankedTensorType rows, mlir::Value gamma);
  static KernelCost ofCopy(const SizePolynomial &elements, mlir::Type element);
  /// The cost of combining what became of the parts of a head's keys, in `bytes` of memory.
  static KernelCost ofCombination(const SizePolynomial &bytes);
};

} // namespace attn
