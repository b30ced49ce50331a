// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A stage with one kernel left, for those who look at it: `--kernel Block.mlp.fc1`. Before kernels
// are functions, what becomes one is put into a function of that name,
//
//   func.func @Block.mlp.fc1(%x, %w) { %y = attn.linear %x, %w; return %y }
#pragma once

#include "compiler/Pipeline.h"

namespace attn {

/// Where a kernel of the memory stage stands.
struct KernelPlace {
  mlir::LocationAttr location; ///< null: there is none
  std::string function;
};

/// Drops all but the kernel `name` and what it refers to from a module of `stage`, which is not
/// past Tiled. Before Memory, ops are kept that lie where `place` says.
void keepOneKernel(mlir::ModuleOp module, Stage stage, llvm::StringRef name,
                   const KernelPlace &place);

} // namespace attn
