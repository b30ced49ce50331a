// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The loops of a kernel of the tiled stage, with the tiles inside, how often they run and what they
// compute: for programs (tools/attn/EXPLAIN.md).
#pragma once

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/JSON.h"

namespace attn {

/// The loops of a kernel's function, while the sizes of its arguments are written there
/// (AssumedSizes): nested, each with its `body`, and tiles as leaves. What does not run at these
/// sizes is left out. `kernel` is the op that they were made of, which still stands there.
llvm::json::Array describeLoops(mlir::func::FuncOp function, mlir::Operation *kernel);

} // namespace attn
