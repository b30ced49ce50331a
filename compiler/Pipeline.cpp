// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The stages in order, and why their passes stand in this order.
#include "compiler/Pipeline.h"
#include "compiler/OneKernel.h"
#include "compiler/codegen/Codegen.h"
#include "compiler/cpu/Passes.h"
#include "compiler/emit/DebugLines.h"
#include "compiler/emit/EntryWrappers.h"
#include "compiler/emit/LowerToLlvm.h"
#include "compiler/emit/ModelInfo.h"
#include "compiler/emit/ModelTables.h"
#include "compiler/gpu/Passes.h"
#include "compiler/gpu/ptx/AssemblyRemarks.h"
#include "compiler/gpu/ptx/Ptx.h"
#include "compiler/support/Errors.h"
#include "compiler/transforms/KernelChoice.h"
#include "compiler/transforms/OutlineKernel.h"
#include "compiler/transforms/Passes.h"
#include "dialect/AttnDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <future>

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

void registerDialects(DialectRegistry &registry) {
  registry
      .insert<AttnDialect, arith::ArithDialect, func::FuncDialect, LLVM::LLVMDialect,
              math::MathDialect, memref::MemRefDialect, scf::SCFDialect, vector::VectorDialect>();
  registerLlvmTranslation(registry);
  registerPtx(registry);
}

//===-- the stages --------------------------------------------------------------------------===//

static void addCleanup(OpPassManager &passes) {
  passes.addPass(createCanonicalizerPass());
  passes.addPass(createCSEPass());
}

static void addFused(OpPassManager &passes) {
  // Slices move up to the end of a stack, then into its last layer; while every op still stands
  // alone.
  passes.addNestedPass<func::FuncOp>(createSinkMapPass());
  passes.addPass(createNarrowStackPass());
  passes.addNestedPass<func::FuncOp>(createSinkMapPass());
  addCleanup(passes);
  // A block that was applied to one tensor several times shows it to the projections inside.
  passes.addPass(createMergeArgumentsPass());
  // Projections are packed before norms are fused: a norm before q, k and v has one reader then.
  passes.addNestedPass<func::FuncOp>(createPackProjectionsPass());
  passes.addNestedPass<func::FuncOp>(createFuseEpiloguePass());
  passes.addNestedPass<func::FuncOp>(createFuseNormPass());
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
  passes.addPass(createCheckMemoryPass());
}

template <typename Options> static Options at(const CpuTarget &level) {
  Options options;
  options.level = level.name.str();
  return options;
}

static void addTiled(OpPassManager &passes, const CpuTarget &level) {
  passes.addPass(createTilePass(at<TilePassOptions>(level)));
  passes.addPass(createCheckTiledPass());
}

static void addKernels(OpPassManager &passes, const CpuTarget &level) {
  passes.addPass(createVectorizePass(at<VectorizePassOptions>(level)));
  passes.addPass(createExpandMathPass(at<ExpandMathPassOptions>(level)));
  addCleanup(passes);
  passes.addPass(createCheckKernelsPass());
}

/// The passes that make a stage of the one before it; `gpu`: planned for GPUs.
static void addStage(OpPassManager &passes, ModuleOp model, const CompileOptions &options,
                     Stage stage, const CpuTarget *level, bool gpu = false) {
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

static void addGpuKernels(OpPassManager &passes, const GpuTarget &chip,
                          const CompileOptions &options) {
  GpuKernelsPassOptions kernels;
  kernels.chip = chip.name.str();
  kernels.tf32 = options.precision == Precision::TF32;
  kernels.watchdog = options.gpuWatchdog;
  kernels.overlap = options.gpuOverlap;
  kernels.bulkStores = options.gpuBulkStores;
  passes.addPass(createGpuKernelsPass(kernels));
  passes.addPass(createCheckGpuKernelsPass());
}

//===-- running them ------------------------------------------------------------------------===//

namespace {

/// A model on its way down. Each step works on a module of its own, so that all that were asked
/// for can be given back.
class Lowering {
public:
  Lowering(ModuleOp model, const CompileOptions &options) : model(model), options(options) {}

  /// Runs the stages to `until`; not past Llvm.
  LogicalResult run(Stage until);
  /// Runs those of GPUs behind `fused` to `until`, Memory or Kernels.
  LogicalResult runGpus(Stage until);
  /// The same to Memory, of which nothing is dumped; for GPUs or CPUs. Null after an error.
  OwningOpRef<ModuleOp> plan(bool gpu);
  /// That of GPUs, dumped. Null after an error.
  OwningOpRef<ModuleOp> planGpus();
  /// The kernels stage of a chip, dumped, from what is planned for GPUs. Null after an error.
  OwningOpRef<ModuleOp> lowerFor(ModuleOp planned, const GpuTarget &chip);

  OwningOpRef<ModuleOp> shared;        ///< attn, fused or memory
  llvm::SmallVector<Staged> perTarget; ///< from tiled on; of GPUs, from memory on

private:
  OwningOpRef<ModuleOp> begin();
  LogicalResult findKernel();
  LogicalResult make(ModuleOp module, Stage stage, const CpuTarget *level, bool gpu);
  LogicalResult step(ModuleOp module, Stage stage, const CpuTarget *level);
  LogicalResult dump(ModuleOp module, Stage stage, llvm::StringRef target);

  ModuleOp model;
  const CompileOptions &options;
  KernelPlace kernelPlace; // of the one that is wanted
};

} // namespace

void printStage(ModuleOp module, llvm::raw_ostream &stream) {
  module.print(stream, OpPrintingFlags().enableDebugInfo());
  stream << '\n';
}

/// What GPUs' memory stage is called after: one for all chips.
static constexpr llvm::StringRef allChips = "gpu";

static llvm::StringRef nameOf(const CpuTarget *level) {
  return level ? level->name : llvm::StringRef();
}

/// "kernels.sm_80", or "memory" where it is of no target.
static std::string nameOf(Stage stage, llvm::StringRef target) {
  return (stageName(stage) + (target.empty() ? "" : ".") + target).str();
}

LogicalResult Lowering::dump(ModuleOp module, Stage stage, llvm::StringRef target) {
  if (options.dumpStages.empty())
    return success();
  OwningOpRef<ModuleOp> alone;
  if (kernelPlace.location && stage <= Stage::Memory && target.empty()) {
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

llvm::SmallVector<Staged> lowerTo(ModuleOp model, Stage until, const CompileOptions &options) {
  Lowering lowering(model, options);
  const TargetSet &targets = options.targets;
  // What is of no target is made for the sake of either.
  if ((until < Stage::Memory || !targets.levels.empty()) && failed(lowering.run(until)))
    return {};
  if (until <= Stage::Memory && lowering.shared)
    lowering.perTarget.push_back({std::move(lowering.shared), {}, nullptr});
  if (until >= Stage::Memory && !targets.chips.empty() && failed(lowering.runGpus(until)))
    return {};
  return std::move(lowering.perTarget);
}

std::optional<llvm::SmallVector<std::string>> kernelNames(ModuleOp model,
                                                          const CompileOptions &options) {
  OwningOpRef<ModuleOp> memory =
      Lowering(model, options).plan(/*gpu=*/options.targets.levels.empty());
  if (!memory)
    return std::nullopt;
  return llvm::map_to_vector(kernelsOf(*memory),
                             [](const NamedKernel &kernel) { return kernel.name; });
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

//===-- code --------------------------------------------------------------------------------===//

/// Adds code to `module`, its functions' names followed by `suffix`.
static LogicalResult addCode(ModuleOp lowered, llvm::StringRef suffix, llvm::Module &module) {
  auto code = translateToLlvmIr(lowered, module.getContext(), module.getName());
  if (!code)
    return failure();
  for (llvm::GlobalObject &object : code->global_objects())
    if (!object.isDeclaration())
      object.setName(object.getName() + suffix);
  if (llvm::Linker::linkModules(module, std::move(code)))
    return emitError(lowered.getLoc()) << "the code of the targets does not fit together";
  return success();
}

/// Adds the host's side of a GPU's code, from its kernels stage, to `module`; the other side is
/// taken out.
static FailureOr<GpuCode> addGpu(ModuleOp model, ModuleOp kernels, const GpuTarget &chip,
                                 const CompileOptions &options, llvm::Module &module) {
  auto code = takeGpuCode(kernels);
  if (failed(code))
    return failure();
  PassManager passes(model.getContext());
  buildLowerToLlvm(passes, CpuTarget::lowestOf(options.targets.architecture()),
                   entrySignatures(model));
  passes.enableVerifier(false);
  if (failed(passes.run(kernels)) || failed(addCode(kernels, chip.suffix(), module)))
    return failure();
  return code;
}

/// PTX, and what an assembler makes of it.
static llvm::Expected<Assembly> assemble(const CompileOptions &options, GpuCode &code) {
  generatePtx(code);
  return options.ptxas ? options.ptxas->assemble(code.ptx, code.target->name)
                       : llvm::Expected<Assembly>(Assembly());
}

/// Adds a cubin, where there is an assembler, and remarks on what became of the kernels; false
/// where there is none or it fails, which drivers make good.
static bool addAssembly(ModuleOp model, const CompileOptions &options, GpuCode &code,
                        llvm::Expected<Assembly> assembly) {
  if (!assembly)
    mlir::emitWarning(model.getLoc()) << "the GPU's code is left to its driver to assemble: "
                                      << llvm::toString(assembly.takeError());
  bool isAssembled = options.ptxas && assembly;
  remarkAssembly(model.getLoc(), code, isAssembled ? &*assembly : nullptr);
  if (isAssembled)
    code.cubin = std::move(assembly->cubin);
  return isAssembled;
}

LogicalResult explainGpus(ModuleOp model, const CompileOptions &options) {
  if (options.targets.chips.empty())
    return success();
  Lowering lowering(model, options);
  OwningOpRef<ModuleOp> planned = lowering.planGpus();
  if (!planned)
    return failure();
  for (const GpuTarget *chip : options.targets.chips) {
    OwningOpRef<ModuleOp> kernels = lowering.lowerFor(*planned, *chip);
    if (!kernels)
      return failure();
    auto code = takeGpuCode(*kernels);
    if (failed(code))
      return failure();
    addAssembly(model, options, *code, assemble(options, *code));
  }
  return success();
}

/// Adds the code for each GPU, and the tables that the runtime reads, to the module.
static LogicalResult addRest(ModuleOp model, Lowering &lowering, const CompileOptions &options,
                             llvm::Module &module) {
  std::vector<GpuCode> gpus(options.targets.chips.size());
  std::vector<std::future<llvm::Expected<Assembly>>> assemblies; // while MLIR lowers the next one
  OwningOpRef<ModuleOp> planned;
  if (!gpus.empty() && !(planned = lowering.planGpus()))
    return failure();
  for (auto [chip, code] : llvm::zip_equal(options.targets.chips, gpus)) {
    OwningOpRef<ModuleOp> kernels = lowering.lowerFor(*planned, *chip);
    if (!kernels)
      return failure();
    auto lowered = addGpu(model, *kernels, *chip, options, module);
    if (failed(lowered))
      return failure();
    code = std::move(*lowered);
    assemblies.push_back(
        std::async(std::launch::async, assemble, std::cref(options), std::ref(code)));
  }
  bool isAssembled = !gpus.empty();
  for (auto [code, assembly] : llvm::zip_equal(gpus, assemblies))
    isAssembled &= addAssembly(model, options, code, assembly.get());
  CompileOptions described = options;
  if (!isAssembled)
    described.ptxas.reset();
  return addModelTables(model, *lowering.shared, described, gpus, module);
}

/// The code of all levels as one module, with the spec's lines where people read it.
static LogicalResult compileTo(llvm::Module &module, bool hasLines, ModuleOp model,
                               const CompileOptions &options) {
  Lowering lowering(model, options);
  if (failed(lowering.run(Stage::Llvm)))
    return failure();
  const CpuArchitecture &architecture = options.targets.architecture();
  module.setTargetTriple(llvm::Triple(architecture.triple));
  module.setDataLayout(dataLayoutOf(architecture));
  for (Staged &level : lowering.perTarget) {
    if (hasLines)
      addDebugLines(*level.module);
    if (failed(addCode(*level.module, level.level->suffix, module)))
      return failure();
  }
  return options.kernel.empty() ? addRest(model, lowering, options, module) : success();
}

std::unique_ptr<llvm::MemoryBuffer> compileToObject(ModuleOp model, const CompileOptions &options) {
  llvm::LLVMContext context;
  llvm::Module module(modelName(model), context);
  if (failed(compileTo(module, /*hasLines=*/false, model, options)))
    return nullptr;
  return generateCode(module, options.optLevel, CodegenOutput::Object);
}

std::unique_ptr<llvm::MemoryBuffer> compileToAssembly(ModuleOp model,
                                                      const CompileOptions &options) {
  llvm::LLVMContext context;
  llvm::Module module(modelName(model), context);
  if (failed(compileTo(module, /*hasLines=*/true, model, options)))
    return nullptr;
  return generateCode(module, options.optLevel, CodegenOutput::Assembly);
}

std::optional<std::string> compileToLlvmIr(ModuleOp model, const CompileOptions &options) {
  llvm::LLVMContext context;
  llvm::Module module(modelName(model), context);
  if (failed(compileTo(module, /*hasLines=*/true, model, options)))
    return std::nullopt;
  std::string text;
  llvm::raw_string_ostream stream(text);
  module.print(stream, /*AAW=*/nullptr);
  return text;
}

std::optional<std::string> compileToPtx(ModuleOp model, const CompileOptions &options) {
  Lowering lowering(model, options);
  OwningOpRef<ModuleOp> planned = lowering.planGpus();
  OwningOpRef<ModuleOp> kernels =
      planned ? lowering.lowerFor(*planned, *options.targets.chips.front()) : nullptr;
  if (!kernels)
    return std::nullopt;
  auto code = takeGpuCode(*kernels);
  if (failed(code))
    return std::nullopt;
  generatePtx(*code);
  return std::move(code->ptx);
}

} // namespace attn
