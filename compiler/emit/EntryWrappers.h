// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How the runtime gets into generated code: for every entry a function with the signature of
// attn_abi_entry_fn and one of attn_abi_workspace_fn.
//
//   llvm.func @entry.classify(%call: !llvm.ptr, %thread: i64)
//   llvm.func @size.classify(%dims: !llvm.ptr, %threads: i64) -> i64
#pragma once

#include "compiler/emit/Passes.h"
#include "mlir/IR/BuiltinOps.h"
#include <string>

namespace attn {

/// What the wrappers must know of an attn-stage module.
WrapEntriesPassOptions entrySignatures(mlir::ModuleOp model);

/// Names of the wrappers.
std::string entrySymbol(llvm::StringRef entry);
std::string workspaceSymbol(llvm::StringRef entry);

} // namespace attn
