// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Measured choices in the IR: an attribute of the module, so that every stage that depends on them
// finds them there, one that is read back from text, too.
//
//   module attributes {attn.tuning = {"x86-64-v4" = {"linear f32, 197 rows of 768 -> 2304" = {rows
//   = 6}}}}
#pragma once

#include "compiler/transforms/Tuning.h"
#include "mlir/IR/BuiltinOps.h"

namespace attn {

/// Puts choices into a module; none leave it as it is.
void attachChoices(mlir::ModuleOp module, const TunedChoices &choices);
void dropChoices(mlir::ModuleOp module);

/// The choice for a kernel of the module that `op` stands in; empty where none was measured.
KernelChoice choiceFor(mlir::Operation *op, llvm::StringRef level, llvm::StringRef kernel);

} // namespace attn
