// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Drops what functions compute and nothing needs.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"

namespace attn::frontend {

/// Drops of entries, and of the blocks that they apply, all that neither gives a result nor fills a
/// cache: ops, arguments and results of blocks, what loops carry. The entries keep their arguments;
/// no other entry applies one of these functions.
void trim(mlir::ModuleOp module, llvm::ArrayRef<mlir::func::FuncOp> entries);

} // namespace attn::frontend
