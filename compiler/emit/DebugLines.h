// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lines of the spec for LLVM's code: what `.loc` and `.file` of assembly, and !dbg of LLVM's text,
// are made of. Objects have none.
#pragma once

#include "mlir/IR/BuiltinOps.h"

namespace attn {

/// Gives every function of an LLVM-dialect module a subprogram, and every op one place in the spec:
/// of an op that was fused, the first part's.
void addDebugLines(mlir::ModuleOp module);

} // namespace attn
