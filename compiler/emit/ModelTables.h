// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tables that the runtime reads (runtime/include/attn/abi.h), as constants.
#pragma once

#include "compiler/Pipeline.h"
#include "llvm/IR/Module.h"

namespace attn {

/// Adds attn_model_<name> and what it points to: dims, parameters and entries as `model`, the
/// attn-stage module, has them; slots as `memory`, the memory-stage module; the code of the levels
/// as `module` has it already, named by levelSymbol. The description lies in section
/// .attn.description, the block for embedded weights, all zeros, in .attn.packed.
mlir::LogicalResult addModelTables(mlir::ModuleOp model, mlir::ModuleOp memory,
                                   const CompileOptions &options, llvm::Module &module);

/// The name of a level's symbol in an object: "Block.attn.proj" -> "Block.attn.proj.v4".
std::string levelSymbol(llvm::StringRef name, CpuLevel level);

} // namespace attn
