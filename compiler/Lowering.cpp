// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stages by pass managers, each on a module of its own where others are wanted, too.
#include "compiler/Lowering.h"
#include "compiler/gpu/ptx/Ptx.h"
#include "compiler/support/Errors.h"
#include "compiler/transforms/KernelChoice.h"
#include "compiler/transforms/OutlineKernel.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace attn {

LogicalResult Lowering::dump(ModuleOp module, Stage stage, llvm::StringRef target) {
  if (options.dumpStages.empty())
    return success();
  OwningOpRef<ModuleOp> alone;
  if (kernelPlace.location && stage <= Stage::Memory) {
    alone = module.clone();
    keepOneKernel(module = *alone, stage, options.kernel, kernelPlace);
  }
  llvm::SmallString<128> path(options.dumpStages);
  std::string number = "0" + std::to_string(static_cast<int>(stage) + 1);
  llvm::sys::path::append(path, number + "-" + nameOf(stage, target) + ".mlir");
  // Under another name, then renamed: a stage is there whole or not at all.
  llvm::Error error = llvm::writeToOutput(path, [&](llvm::raw_ostream &stream) {
    printStage(module, stream);
    auto &file = static_cast<llvm::raw_fd_ostream &>(stream);
    file.flush();
    std::error_code problem = file.error();
    file.clear_error();
    return llvm::errorCodeToError(problem);
  });
  if (error)
    return emitErrorOf(ErrorKind::Environment, UnknownLoc::get(module.getContext()))
           << "cannot write `" << path << "`: " << llvm::toString(std::move(error));
  return success();
}

LogicalResult Lowering::make(ModuleOp module, Stage stage, const CpuTarget *level, bool gpu) {
  PassManager passes(module.getContext());
  addStage(passes, model, options, stage, level, gpu);
  if (stage >= Stage::Llvm)
    passes.enableVerifier(false); // LLVM verifies what comes out
  return passes.run(module);
}

LogicalResult Lowering::step(ModuleOp module, Stage stage, const CpuTarget *level) {
  if (failed(make(module, stage, level, /*gpu=*/false)))
    return failure();
  if (kernelPlace.location && stage == Stage::Tiled)
    keepOneKernel(module, stage, options.kernel, kernelPlace);
  return dump(module, stage, nameOf(level));
}

/// The model, with the measured choices that scratch is planned for and tiles are made by.
OwningOpRef<ModuleOp> Lowering::begin() {
  OwningOpRef<ModuleOp> module = model.clone();
  attachChoices(*module, options.tuning);
  return module;
}

LogicalResult Lowering::findKernel() {
  OwningOpRef<ModuleOp> memory = plan(/*gpu=*/options.targets.levels.empty());
  if (!memory)
    return failure();
  for (const NamedKernel &kernel : kernelsOf(*memory))
    if (kernel.name == options.kernel)
      kernelPlace = {kernel.kernel->getLoc(),
                     kernel.kernel->getParentOfType<func::FuncOp>().getSymName().str()};
  if (!kernelPlace.location)
    return emitErrorOf(ErrorKind::Input, model.getLoc())
           << "there is no kernel `" << options.kernel << "`";
  return success();
}

LogicalResult Lowering::run(Stage until) {
  until = std::min(until, Stage::Llvm);
  if (!options.kernel.empty() && failed(findKernel()))
    return failure();
  shared = begin();
  for (Stage stage : {Stage::Attn, Stage::Fused, Stage::Memory})
    if (stage <= until && failed(step(*shared, stage, /*level=*/nullptr)))
      return failure();
  if (until <= Stage::Memory) {
    if (kernelPlace.location)
      keepOneKernel(*shared, until, options.kernel, kernelPlace);
    return success();
  }
  for (const CpuTarget *level : options.targets.levels) {
    perTarget.push_back({shared->clone(), level->name, level});
    for (Stage stage : {Stage::Tiled, Stage::Kernels, Stage::Llvm})
      if (stage <= until && failed(step(*perTarget.back().module, stage, level)))
        return failure();
  }
  return success();
}

OwningOpRef<ModuleOp> Lowering::planGpus() {
  OwningOpRef<ModuleOp> planned = plan(/*gpu=*/true);
  if (!planned || failed(dump(*planned, Stage::Memory, allChips)))
    return nullptr;
  return planned;
}

OwningOpRef<ModuleOp> Lowering::lowerFor(ModuleOp planned, const GpuTarget &chip) {
  OwningOpRef<ModuleOp> module = planned.clone();
  PassManager passes(module->getContext());
  addGpuKernels(passes, chip, options);
  if (failed(passes.run(*module)))
    return nullptr;
  if (!options.kernel.empty())
    keepGpuKernel(*module, options.kernel);
  if (failed(dump(*module, Stage::Kernels, chip.name)))
    return nullptr;
  return module;
}

LogicalResult Lowering::runGpus(Stage until) {
  if (!options.kernel.empty() && !kernelPlace.location && failed(findKernel()))
    return failure();
  OwningOpRef<ModuleOp> planned = planGpus();
  if (!planned)
    return failure();
  if (kernelPlace.location && until == Stage::Memory)
    keepOneKernel(*planned, until, options.kernel, kernelPlace);
  if (until == Stage::Kernels)
    for (const GpuTarget *chip : options.targets.chips) {
      perTarget.push_back({lowerFor(*planned, *chip), chip->name, nullptr});
      if (!perTarget.back().module)
        return failure();
    }
  else if (until == Stage::Memory)
    perTarget.push_back({std::move(planned), allChips, nullptr});
  return success();
}

OwningOpRef<ModuleOp> Lowering::plan(bool gpu) {
  OwningOpRef<ModuleOp> module = begin();
  for (Stage stage : {Stage::Fused, Stage::Memory})
    if (failed(make(*module, stage, /*level=*/nullptr, gpu)))
      return nullptr;
  return module;
}

} // namespace attn
