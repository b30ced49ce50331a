// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The stages in order, and why their passes stand in this order.
#include "compiler/Pipeline.h"
#include "compiler/Errors.h"
#include "compiler/cpu/Passes.h"
#include "compiler/emit/Codegen.h"
#include "compiler/emit/LowerToLlvm.h"
#include "compiler/emit/ModelInfo.h"
#include "compiler/emit/ModelTables.h"
#include "compiler/gpu/AssemblyRemarks.h"
#include "compiler/gpu/Passes.h"
#include "compiler/gpu/Ptx.h"
#include "compiler/transforms/KernelChoice.h"
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
  auto hasPairs = [](CpuLevel level) {
    return level == CpuLevel::Avx512Bf16 || level == CpuLevel::Amx;
  };
  plan.pairs = gpu || llvm::any_of(options.levels, hasPairs);
  plan.onlyPairs = !gpu && llvm::all_of(options.levels, hasPairs);
  plan.onlyTiles =
      !gpu && llvm::all_of(options.levels, [](CpuLevel level) { return level == CpuLevel::Amx; });
  plan.gpu = gpu;
  if (options.attention)
    plan.attention = stringifyAttentionLowering(*options.attention).str();
  passes.addPass(createPlanMemoryPass(plan));
  addCleanup(passes); // offsets of static buffers become constants
  passes.addPass(createCheckMemoryPass());
}

template <typename Options> static Options at(CpuLevel level) {
  Options options;
  options.level = cpuLevelName(level).str();
  return options;
}

static void addTiled(OpPassManager &passes, CpuLevel level) {
  passes.addPass(createTilePass(at<TilePassOptions>(level)));
  passes.addPass(createCheckTiledPass());
}

static void addKernels(OpPassManager &passes, CpuLevel level) {
  passes.addPass(createVectorizePass(at<VectorizePassOptions>(level)));
  passes.addPass(createExpandMathPass(at<ExpandMathPassOptions>(level)));
  addCleanup(passes);
  passes.addPass(createCheckKernelsPass());
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
  /// The same to Memory, planned for GPUs. Null after an error.
  OwningOpRef<ModuleOp> planForGpus();

  OwningOpRef<ModuleOp> shared;       ///< attn, fused or memory
  llvm::SmallVector<Staged> perLevel; ///< from tiled on

private:
  LogicalResult step(ModuleOp module, Stage stage, std::optional<CpuLevel> level, bool gpu = false);
  LogicalResult dump(ModuleOp module, Stage stage, std::optional<CpuLevel> level);

  ModuleOp model;
  const CompileOptions &options;
};

} // namespace

LogicalResult Lowering::dump(ModuleOp module, Stage stage, std::optional<CpuLevel> level) {
  if (options.dumpStages.empty())
    return success();
  std::string suffix = level ? "." + cpuLevelName(*level).str() : "";
  llvm::SmallString<128> path(options.dumpStages);
  std::string number = "0" + std::to_string(static_cast<int>(stage) + 1);
  llvm::sys::path::append(path, number + "-" + stageName(stage) + suffix + ".mlir");
  // Under another name, then renamed: a stage is there whole or not at all.
  llvm::Error error = llvm::writeToOutput(path, [&](llvm::raw_ostream &stream) {
    module.print(stream);
    stream << '\n';
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

LogicalResult Lowering::step(ModuleOp module, Stage stage, std::optional<CpuLevel> level,
                             bool gpu) {
  PassManager passes(module.getContext());
  switch (stage) {
  case Stage::Attn:
    break;
  case Stage::Fused:
    addFused(passes);
    break;
  case Stage::Memory:
    attachChoices(module, options.tuning); // scratch is planned for the tiles that there will be
    addMemory(passes, options, gpu);
    break;
  case Stage::Tiled:
    addTiled(passes, *level);
    break;
  case Stage::Kernels:
    addKernels(passes, *level);
    break;
  case Stage::Llvm:
  case Stage::Object:
    buildLowerToLlvm(passes, *level, EntrySignatures::of(model));
    passes.enableVerifier(false); // LLVM verifies what comes out
    break;
  }
  if (failed(passes.run(module)))
    return failure();
  return gpu ? success() : dump(module, stage, level);
}

LogicalResult Lowering::run(Stage until) {
  until = std::min(until, Stage::Llvm);
  shared = model.clone();
  for (Stage stage : {Stage::Attn, Stage::Fused, Stage::Memory})
    if (stage <= until && failed(step(*shared, stage, std::nullopt)))
      return failure();
  if (until <= Stage::Memory)
    return success();
  for (CpuLevel level : options.levels) {
    perLevel.push_back({shared->clone(), level});
    for (Stage stage : {Stage::Tiled, Stage::Kernels, Stage::Llvm})
      if (stage <= until && failed(step(*perLevel.back().module, stage, level)))
        return failure();
  }
  return success();
}

OwningOpRef<ModuleOp> Lowering::planForGpus() {
  OwningOpRef<ModuleOp> module = model.clone();
  for (Stage stage : {Stage::Fused, Stage::Memory})
    if (failed(step(*module, stage, std::nullopt, /*gpu=*/true)))
      return nullptr;
  return module;
}

llvm::SmallVector<Staged> lowerTo(ModuleOp model, Stage until, const CompileOptions &options) {
  Lowering lowering(model, options);
  if (failed(lowering.run(until)))
    return {};
  if (until <= Stage::Memory)
    lowering.perLevel.push_back({std::move(lowering.shared), std::nullopt});
  return std::move(lowering.perLevel);
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

/// From the memory stage: kernels become LLVM's code for the GPU, which is taken out of the module.
static FailureOr<GpuCode> lowerForGpu(ModuleOp memory, llvm::StringRef chip, Precision precision) {
  PassManager passes(memory.getContext());
  GpuKernelsPassOptions kernels;
  kernels.chip = chip.str();
  kernels.tf32 = precision == Precision::TF32;
  passes.addPass(createGpuKernelsPass(kernels));
  if (failed(passes.run(memory)))
    return failure();
  return takeGpuCode(memory);
}

/// Adds the host's side of a GPU's code to `module`.
static FailureOr<GpuCode> addGpu(ModuleOp model, ModuleOp memory, llvm::StringRef chip,
                                 Precision precision, llvm::Module &module) {
  OwningOpRef<ModuleOp> host = memory.clone();
  auto code = lowerForGpu(*host, chip, precision);
  if (failed(code))
    return failure();
  PassManager passes(model.getContext());
  buildLowerToLlvm(passes, CpuLevel::X86_64_V3, EntrySignatures::of(model));
  passes.enableVerifier(false);
  if (failed(passes.run(*host)) || failed(addCode(*host, chipSuffix(chip), module)))
    return failure();
  return code;
}

/// PTX, and what an assembler makes of it.
static llvm::Expected<Assembly> assemble(const CompileOptions &options, GpuCode &code) {
  generatePtx(code);
  return options.ptxas ? options.ptxas->assemble(code.ptx, code.chip)
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
  if (options.chips.empty())
    return success();
  OwningOpRef<ModuleOp> planned = Lowering(model, options).planForGpus();
  if (!planned)
    return failure();
  for (llvm::StringRef chip : options.chips) {
    OwningOpRef<ModuleOp> own = planned->clone();
    auto code = lowerForGpu(*own, chip, options.precision);
    if (failed(code))
      return failure();
    addAssembly(model, options, *code, assemble(options, *code));
  }
  return success();
}

static std::unique_ptr<llvm::MemoryBuffer> compileTo(CodegenOutput output, ModuleOp model,
                                                     const CompileOptions &options) {
  Lowering lowering(model, options);
  if (failed(lowering.run(Stage::Llvm)))
    return nullptr;
  llvm::LLVMContext context;
  llvm::Module module(modelName(model), context);
  module.setTargetTriple(llvm::Triple(targetTriple()));
  module.setDataLayout(targetDataLayout());
  for (Staged &level : lowering.perLevel)
    if (failed(addCode(*level.module, levelSuffix(*level.level), module)))
      return nullptr;
  std::vector<GpuCode> gpus(options.chips.size());
  std::vector<std::future<llvm::Expected<Assembly>>> assemblies; // while MLIR lowers the next one
  OwningOpRef<ModuleOp> planned;
  if (!gpus.empty() && !(planned = lowering.planForGpus()))
    return nullptr;
  for (auto [chip, code] : llvm::zip_equal(options.chips, gpus)) {
    auto lowered = addGpu(model, *planned, chip, options.precision, module);
    if (failed(lowered))
      return nullptr;
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
  if (failed(addModelTables(model, *lowering.shared, described, gpus, module)))
    return nullptr;
  return generateCode(module, options.optLevel, output);
}

std::unique_ptr<llvm::MemoryBuffer> compileToObject(ModuleOp model, const CompileOptions &options) {
  return compileTo(CodegenOutput::Object, model, options);
}

std::optional<std::string> compileToPtx(ModuleOp model, const CompileOptions &options) {
  OwningOpRef<ModuleOp> planned = Lowering(model, options).planForGpus();
  if (!planned)
    return std::nullopt;
  auto code = lowerForGpu(*planned, options.chips.front(), options.precision);
  if (failed(code))
    return std::nullopt;
  generatePtx(*code);
  return std::move(code->ptx);
}

std::unique_ptr<llvm::MemoryBuffer> compileToAssembly(ModuleOp model,
                                                      const CompileOptions &options) {
  return compileTo(CodegenOutput::Assembly, model, options);
}

} // namespace attn
