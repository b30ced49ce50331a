// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tables that the runtime reads (runtime/include/attn/abi.h), as constants.
#pragma once

#include "compiler/emit/CompileOptions.h"
#include "compiler/gpu/ptx/Ptx.h"
#include "llvm/IR/Module.h"

namespace attn {

/// Adds attn_model_<name> and what it points to: dims, parameters and entries as `model`, the
/// attn-stage module, has them; slots as `memory`, the memory-stage module; the code of the levels
/// and of the host's side of GPUs as `module` has it already, with these suffixes. The description
/// lies in section .attn.description, the block for embedded weights, all zeros, in .attn.packed,
/// an explanation in .attn.explanation.
mlir::LogicalResult addModelTables(mlir::ModuleOp model, mlir::ModuleOp memory,
                                   const CompileOptions &options, llvm::ArrayRef<GpuCode> gpus,
                                   llvm::Module &module);

} // namespace attn
