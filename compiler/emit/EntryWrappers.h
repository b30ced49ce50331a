// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How the runtime gets into generated code: for every entry a function with the signature of
// attn_abi_entry_fn and one of attn_abi_workspace_fn.
//
//   llvm.func @entry.classify(%call: !llvm.ptr, %thread: i64)
//   llvm.func @size.classify(%dims: !llvm.ptr, %threads: i64) -> i64
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"
#include <memory>
#include <string>
#include <vector>

namespace attn {

/// What the wrappers must know of a model.
struct EntrySignatures {
  struct Entry {
    std::string name;
    int32_t inputs = 0, outputs = 0;
  };
  std::vector<int32_t> dynamicDims; ///< positions within attn_abi_call.dims
  std::vector<Entry> entries;       ///< in the order of the module

  /// Those of an attn-stage module.
  static EntrySignatures of(mlir::ModuleOp model);
};

/// Names of the wrappers.
std::string entrySymbol(llvm::StringRef entry);
std::string workspaceSymbol(llvm::StringRef entry);

/// Adds the wrappers to a module of the LLVM dialect that holds the entries' functions.
std::unique_ptr<mlir::Pass> createEntryWrappersPass(EntrySignatures signatures = {});

} // namespace attn
