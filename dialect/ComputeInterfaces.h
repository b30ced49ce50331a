// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The interfaces of ComputeInterfaces.td, and what they do by default.
#pragma once

#include "mlir/IR/OpDefinition.h"
#include <string>

namespace attn {

/// An op's name without its dialect, and how many columns a tensor of `type` has, if that is known:
/// "rotary 64".
std::string titleWithColumns(mlir::Operation *op, mlir::Type type);

/// All operands and results that are tensors.
llvm::SmallVector<mlir::Value> operandsAndResults(mlir::Operation *op);

} // namespace attn

#include "dialect/ComputeInterfaces.h.inc"
