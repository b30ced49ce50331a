// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The interfaces of KernelInterfaces.td.
#pragma once

#include "mlir/IR/Builders.h"
#include "mlir/IR/OpDefinition.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include <string>

namespace attn {

/// One row of a kernel's buffers, as RowKernelOpInterface::createRow asks for it.
struct RowOperands {
  llvm::function_ref<mlir::Value(mlir::Value buffer)> of;   ///< the row that is computed
  llvm::function_ref<mlir::Value(mlir::Value scratch)> own; ///< the worker's, of as many columns
};

} // namespace attn

#include "dialect/KernelInterfaces.h.inc"
