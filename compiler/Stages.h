// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The passes of the stages (Pipeline.cpp), for what runs them (Lowering.cpp) and turns the last of
// them into code (ModelCode.cpp).
#pragma once

#include "compiler/Pipeline.h"
#include "mlir/Pass/PassManager.h"

namespace attn {

/// The passes that make a stage of the one before it; `gpu`: planned for GPUs.
void addStage(mlir::OpPassManager &passes, mlir::ModuleOp model, const CompileOptions &options,
              Stage stage, const CpuTarget *level, bool gpu = false);

/// Those that make the kernels stage of a chip of GPUs' memory stage.
void addGpuKernels(mlir::OpPassManager &passes, const GpuTarget &chip,
                   const CompileOptions &options);

/// What GPUs' memory stage is called after: one for all chips.
inline constexpr llvm::StringRef allChips = "gpu";

/// The name of a level, empty where there is none.
inline llvm::StringRef nameOf(const CpuTarget *level) {
  return level ? level->name : llvm::StringRef();
}

/// "kernels.sm_80", or "memory" where it is of no target.
std::string nameOf(Stage stage, llvm::StringRef target);

} // namespace attn
