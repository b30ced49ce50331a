// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The stages of the compiler in order, and the passes of each:
//
//   attn -> fused -> memory -> tiled -> kernels -> llvm -> object      for CPUs
//                 -> memory ----------> kernels -> PTX                 for GPUs
//
// Memory is planned once for all CPU levels, by what any or all of them can do, and once for all
// GPUs; the stages before do not know the target, those after it run once per level.
#pragma once

#include "compiler/emit/CompileOptions.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "mlir/Pass/PassManager.h"
#include <optional>
#include <string>

namespace attn {

/// The stages, one name each for `--emit`, the dump files and the test folders
/// (compiler/README.md).
enum class Stage { Attn, Fused, Memory, Tiled, Kernels, Llvm, Object };

/// "attn", "fused", ...; and back.
llvm::StringRef stageName(Stage stage);
std::optional<Stage> parseStage(llvm::StringRef name);

/// The module of a stage, for CPUs per level from `tiled` on; GPUs have one of `memory`, and one of
/// `kernels` per chip.
struct Staged {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  llvm::StringRef target;           ///< "x86-64-v4", "sm_80", "gpu"; empty where it is of none
  const CpuTarget *level = nullptr; ///< of a CPU
};

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

/// The passes of every stage, `fused: builtin.module(...)` a line, as `attn-opt --pass-pipeline`
/// takes them, and LLVM's of objects and PTX, as `opt -passes` does.
std::string printPipelines(mlir::ModuleOp model, const CompileOptions &options);

/// Prints a stage with the places of its ops in the spec (dialect/Locations.h).
void printStage(mlir::ModuleOp module, llvm::raw_ostream &stream);

} // namespace attn
