// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A call, replaced by what the called function does.
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace attn {

/// Puts the body of `function`, which is one block, in the place of a call of it, which goes.
void inlineCall(mlir::func::CallOp call, mlir::func::FuncOp function);

} // namespace attn
