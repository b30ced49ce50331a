// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Every kernel of the `memory` stage becomes a function of its own, for CPUs and GPUs alike.
#pragma once

#include "dialect/AttnDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include <string>

namespace attn {

/// The dims whose sizes are arguments of every function of the memory stage, from argument
/// `firstDimArgument` on: behind the packed block, the workspace, the call, a thread and threads.
llvm::SmallVector<DimOp> dynamicDims(mlir::ModuleOp module);
constexpr unsigned firstDimArgument = 5;

/// Whether an op is a kernel on buffers.
bool isKernel(mlir::Operation *op);

/// A kernel and what its function is called, `Block.mlp.fc1`: the name that people see.
struct NamedKernel {
  mlir::Operation *kernel;
  std::string name;
};

/// All kernels of a module of the `memory` stage, in the order in which they are outlined.
llvm::SmallVector<NamedKernel> kernelsOf(mlir::ModuleOp module);

/// The attn.cost that a kernel is one of or a part of: that of the barrier behind it. Null where
/// there is none.
mlir::StringAttr costOf(mlir::Operation *kernel);

/// A kernel, alone in a private function that is called where it was. The function's last two
/// arguments are a worker's number and how many there are.
struct OutlinedKernel {
  mlir::Operation *kernel;
  mlir::func::FuncOp function;
  mlir::func::CallOp call;

  /// The arguments of the function that say which worker it is, and of how many.
  mlir::Value worker() { return function.getArgument(function.getNumArguments() - 2); }
  mlir::Value workers() { return function.getArgument(function.getNumArguments() - 1); }
};

/// Moves a kernel into a function named after the layer that it computes. Its buffers are rebuilt
/// there from pointers and sizes; the workers are the threads of the calling function.
OutlinedKernel outlineKernel(mlir::Operation *kernel, mlir::SymbolTable &symbols);

} // namespace attn
