// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Runs the stages of a model one after the other, for all targets, and writes them to files.
#pragma once

#include "compiler/OneKernel.h"
#include "compiler/Pipeline.h"

namespace attn {

/// A model on its way down. Each step works on a module of its own, so that all that were asked
/// for can be given back.
class Lowering {
public:
  Lowering(mlir::ModuleOp model, const CompileOptions &options) : model(model), options(options) {}

  /// Runs the stages to `until`; not past Llvm.
  mlir::LogicalResult run(Stage until);
  /// Runs those of GPUs behind `fused` to `until`, Memory or Kernels.
  mlir::LogicalResult runGpus(Stage until);
  /// The same to Memory, of which nothing is dumped; for GPUs or CPUs. Null after an error.
  mlir::OwningOpRef<mlir::ModuleOp> plan(bool gpu);
  /// That of GPUs, dumped. Null after an error.
  mlir::OwningOpRef<mlir::ModuleOp> planGpus();
  /// The kernels stage of a chip, dumped, from what is planned for GPUs. Null after an error.
  mlir::OwningOpRef<mlir::ModuleOp> lowerFor(mlir::ModuleOp planned, const GpuTarget &chip);

  mlir::OwningOpRef<mlir::ModuleOp> shared; ///< attn, fused or memory
  llvm::SmallVector<Staged> perTarget;      ///< from tiled on; of GPUs, from memory on

private:
  /// The model with the measured choices; where the kernel that is wanted stands.
  mlir::OwningOpRef<mlir::ModuleOp> begin();
  mlir::LogicalResult findKernel();
  /// Makes a stage of the one before it, in place; the same, cut to one kernel, and dumped.
  mlir::LogicalResult make(mlir::ModuleOp module, Stage stage, const CpuTarget *level, bool gpu);
  mlir::LogicalResult step(mlir::ModuleOp module, Stage stage, const CpuTarget *level);
  /// Writes a stage to its file, where there is a folder for them.
  mlir::LogicalResult dump(mlir::ModuleOp module, Stage stage, llvm::StringRef target);

  mlir::ModuleOp model;
  const CompileOptions &options;
  KernelPlace kernelPlace; // of the one that is wanted
};

} // namespace attn
