// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Stages as they are asked for, and the last of all targets to one object, to text, or to PTX.
#include "compiler/Compiler.h"
#include "compiler/Lowering.h"
#include "compiler/codegen/Codegen.h"
#include "compiler/codegen/DebugLines.h"
#include "compiler/emit/EntryWrappers.h"
#include "compiler/emit/LowerToLlvm.h"
#include "compiler/emit/ModelInfo.h"
#include "compiler/emit/ModelTables.h"
#include "compiler/gpu/ptx/AssemblyRemarks.h"
#include "compiler/gpu/ptx/Ptx.h"
#include "compiler/transforms/OutlineKernel.h"
#include "dialect/AttnDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/Linker/Linker.h"
#include "llvm/Support/raw_ostream.h"
#include <future>

using namespace mlir;

namespace attn {

void registerDialects(DialectRegistry &registry) {
  registry
      .insert<AttnDialect, arith::ArithDialect, func::FuncDialect, LLVM::LLVMDialect,
              math::MathDialect, memref::MemRefDialect, scf::SCFDialect, vector::VectorDialect>();
  registerLlvmTranslation(registry);
  registerPtx(registry);
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
  auto code = takeGpuCode(kernels, options.debugLines);
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
  return options.ptxas ? options.ptxas->assemble(code.ptx, code.target->name, options.debugLines)
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

LogicalResult explainGpus(ModuleOp model, const CompileOptions &options,
                          llvm::SmallVectorImpl<Staged> &memory) {
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
    auto code = takeGpuCode(*kernels, options.debugLines);
    if (failed(code))
      return failure();
    addAssembly(model, options, *code, assemble(options, *code));
    memory.push_back({planned->clone(), chip->name, nullptr});
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
      addDebugLines(level.module->getOperation(), options.debugLines);
    if (failed(addCode(*level.module, level.level->suffix, module)))
      return failure();
  }
  return options.kernel.empty() ? addRest(model, lowering, options, module) : success();
}

std::unique_ptr<llvm::MemoryBuffer> compileToObject(ModuleOp model, const CompileOptions &options,
                                                    CodegenProgress progress) {
  llvm::LLVMContext context;
  llvm::Module module(modelName(model), context);
  if (failed(compileTo(module, /*hasLines=*/options.debugLines, model, options)))
    return nullptr;
  return generateCode(module, options.optLevel, CodegenOutput::Object, progress);
}

std::unique_ptr<llvm::MemoryBuffer> compileToAssembly(ModuleOp model, const CompileOptions &options,
                                                      CodegenProgress progress) {
  llvm::LLVMContext context;
  llvm::Module module(modelName(model), context);
  if (failed(compileTo(module, /*hasLines=*/true, model, options)))
    return nullptr;
  return generateCode(module, options.optLevel, CodegenOutput::Assembly, progress);
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
  if (!planned)
    return std::nullopt;
  std::string text;
  bool areSeveral = options.targets.chips.size() > 1;
  for (const GpuTarget *chip : options.targets.chips) {
    OwningOpRef<ModuleOp> kernels = lowering.lowerFor(*planned, *chip);
    if (!kernels)
      return std::nullopt;
    auto code = takeGpuCode(*kernels, options.debugLines);
    if (failed(code))
      return std::nullopt;
    generatePtx(*code);
    if (areSeveral)
      text += ("// " + chip->name + "\n").str();
    text += code->ptx;
  }
  return text;
}

} // namespace attn
