// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether a block computes each row by itself.
#pragma once

#include "compiler/frontend/sema/Context.h"

namespace attn::frontend {

/// The first op, in a function or those that it calls, whose result depends on more than one row
/// along the axis whose size is `rows`, or on how many there are; null where there is none.
mlir::Operation *findAcrossRows(mlir::ModuleOp module, mlir::func::FuncOp function,
                                llvm::StringRef rows);

} // namespace attn::frontend
