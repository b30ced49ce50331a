// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The stages in order, and why their passes stand in this order.
#include "compiler/Pipeline.h"
#include "compiler/codegen/Codegen.h"
#include "compiler/cpu/Passes.h"
#include "compiler/emit/EntryWrappers.h"
#include "compiler/emit/LowerToLlvm.h"
#include "compiler/emit/ModelInfo.h"
#include "compiler/gpu/Passes.h"
#include "compiler/transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;

namespace attn {

static constexpr llvm::StringRef stageNames[] = {"attn",    "fused", "memory", "tiled",
                                                 "kernels", "llvm",  "object"};

llvm::StringRef stageName(Stage stage) { return stageNames[static_cast<size_t>(stage)]; }

std::optional<Stage> parseStage(llvm::StringRef name) {
  auto found = llvm::find(stageNames, name);
  if (found == std::end(stageNames))
    return std::nullopt;
  return static_cast<Stage>(found - std::begin(stageNames));
}

std::string nameOf(Stage stage, llvm::StringRef target) {
  return (stageName(stage) + (target.empty() ? "" : ".") + target).str();
}

void printStage(ModuleOp module, llvm::raw_ostream &stream) {
  module.print(stream, OpPrintingFlags().enableDebugInfo());
  stream << '\n';
}

//===-- the stages --------------------------------------------------------------------------===//

static void addCleanup(OpPassManager &passes) {
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
}

static void addFused(OpPassManager &passes) {
  // Hooks are as the spec has them: slices have not moved their positions yet.
  passes.addNestedPass<func::FuncOp>(createMaskFromBiasPass());
  // What leaves a scan stands beside other ops from then on, and is packed and fused as they are.
  passes.addPass(createHoistFromScanPass());
  // Slices move up to the end of a stack, then into its last layer; while every op still stands
  // alone.
  passes.addNestedPass<func::FuncOp>(createSinkMapPass());
  passes.addPass(createNarrowStackPass());
  passes.addNestedPass<func::FuncOp>(createSinkMapPass());
  addCleanup(passes);
  // A block that was applied to one tensor several times shows it to the projections inside.
  passes.addPass(createMergeArgumentsPass());
  // Maps stand beside what they are maps of.
  passes.addPass(createInlineMapsPass());
  // Maps along heads and groups are linears from here on.
  passes.addPass(createSplitAlongPass());
  // Projections are packed before norms are fused: a norm before q, k and v has one reader then.
  passes.addNestedPass<func::FuncOp>(createPackProjectionsPass());
  // Views of packed projections are read where they lie, row by row.
  passes.addPass(createRowsApartPass());
  passes.addNestedPass<func::FuncOp>(createFuseEpiloguePass());
  // Maps that no linear has taken.
  passes.addNestedPass<func::FuncOp>(createFuseMapPass());
  passes.addNestedPass<func::FuncOp>(createFuseNormPass());
  // What is a linear's input is settled now.
  passes.addPass(createOrderContractionPass());
  addCleanup(passes);
  passes.addNestedPass<func::FuncOp>(createCheckFusedPass());
}

static void addMemory(OpPassManager &passes, const CompileOptions &options, bool gpu) {
  PlanMemoryPassOptions plan;
  plan.precision = stringifyPrecision(options.precision).str();
  plan.targets = (gpu ? options.targets.onlyChips() : options.targets.onlyLevels()).names();
  if (options.attention)
    plan.attention = stringifyAttentionLowering(*options.attention).str();
  passes.addPass(createPlanMemoryPass(plan));
  addCleanup(passes); // offsets of static buffers become constants
  if (!gpu)           // where barriers are the order of launches
    passes.addPass(createMergeBarriersPass());
  passes.addPass(createCheckMemoryPass());
}

template <typename Options> static Options at(const CpuTarget &level) {
  Options options;
  options.level = level.name.str();
  return options;
}

static void addTiled(OpPassManager &passes, const CpuTarget &level) {
  passes.addPass(createTilePass(at<TilePassOptions>(level)));
  passes.addPass(createMergeKernelsPass());
  passes.addPass(createCheckTiledPass());
}

static void addKernels(OpPassManager &passes, const CpuTarget &level) {
  passes.addPass(createVectorizePass(at<VectorizePassOptions>(level)));
  passes.addPass(createExpandMathPass(at<ExpandMathPassOptions>(level)));
  addCleanup(passes);
  passes.addPass(createCheckKernelsPass());
}

void addStage(OpPassManager &passes, ModuleOp model, const CompileOptions &options, Stage stage,
              const CpuTarget *level, bool gpu) {
  switch (stage) {
  case Stage::Attn:
    return;
  case Stage::Fused:
    return addFused(passes);
  case Stage::Memory:
    return addMemory(passes, options, gpu);
  case Stage::Tiled:
    return addTiled(passes, *level);
  case Stage::Kernels:
    return addKernels(passes, *level);
  case Stage::Llvm:
  case Stage::Object:
    // A kernel by itself is called by no entry.
    return buildLowerToLlvm(
        passes, *level, options.kernel.empty() ? entrySignatures(model) : WrapEntriesPassOptions());
  }
}

void addGpuKernels(OpPassManager &passes, const GpuTarget &chip, const CompileOptions &options) {
  GpuKernelsPassOptions kernels;
  kernels.chip = chip.name.str();
  kernels.watchdog = options.gpuWatchdog;
  kernels.overlap = options.gpuOverlap;
  kernels.bulkStores = options.gpuBulkStores;
  passes.addPass(createGpuKernelsPass(kernels));
  passes.addPass(createCheckGpuKernelsPass());
}

std::string printPipelines(ModuleOp model, const CompileOptions &options) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  auto line = [&](const llvm::Twine &name, llvm::function_ref<void(OpPassManager &)> add) {
    PassManager passes(model.getContext(), ModuleOp::getOperationName());
    add(passes);
    stream << name << ": ";
    passes.printAsTextualPipeline(stream);
    stream << '\n';
  };
  auto stageLine = [&](Stage stage, const CpuTarget *level) {
    line(nameOf(stage, nameOf(level)),
         [&](OpPassManager &passes) { addStage(passes, model, options, stage, level); });
  };
  stageLine(Stage::Fused, nullptr);
  if (!options.targets.levels.empty())
    stageLine(Stage::Memory, nullptr);
  for (const CpuTarget *level : options.targets.levels)
    for (Stage stage : {Stage::Tiled, Stage::Kernels, Stage::Llvm})
      stageLine(stage, level);
  if (!options.targets.levels.empty())
    stream << "object: " << llvmPipeline(options.optLevel, /*isGpu=*/false) << '\n';
  if (!options.targets.chips.empty())
    line(nameOf(Stage::Memory, allChips), [&](OpPassManager &passes) {
      addStage(passes, model, options, Stage::Memory, /*level=*/nullptr, /*gpu=*/true);
    });
  for (const GpuTarget *chip : options.targets.chips) {
    line(nameOf(Stage::Kernels, chip->name),
         [&](OpPassManager &passes) { addGpuKernels(passes, *chip, options); });
    stream << "ptx." << chip->name << ": " << llvmPipeline(gpuOptLevel, /*isGpu=*/true) << '\n';
  }
  return text;
}

} // namespace attn
