// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// LLVM IR to machine code or PTX: the passes that LLVM runs on kernels, then its code generators.
// The passes are a list of its own, since kernels are vector code already
// (tools/bench/results/llvm-pipeline.md).
#include "compiler/codegen/Codegen.h"
#include "compiler/target/CpuTarget.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "llvm/ADT/PostOrderIterator.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/CodeGen/CodeGenTargetMachineImpl.h"
#include "llvm/CodeGen/MachineFunctionPass.h"
#include "llvm/CodeGen/MachineModuleInfo.h"
#include "llvm/CodeGen/Passes.h"
#include "llvm/CodeGen/TargetPassConfig.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/LegacyPassManager.h"
#include "llvm/MC/TargetRegistry.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/SmallVectorMemoryBuffer.h"
#include "llvm/Support/TargetSelect.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Target/TargetMachine.h"
#include "llvm/TargetParser/Triple.h"

using namespace mlir;

namespace attn {

void initializeTargets() {
  static const bool isInitialised = [] {
    LLVMInitializeX86TargetInfo();
    LLVMInitializeX86Target();
    LLVMInitializeX86TargetMC();
    LLVMInitializeX86AsmPrinter();
    LLVMInitializeX86AsmParser(); // of inline assembly
    LLVMInitializeAArch64TargetInfo();
    LLVMInitializeAArch64Target();
    LLVMInitializeAArch64TargetMC();
    LLVMInitializeAArch64AsmPrinter();
    LLVMInitializeNVPTXTargetInfo();
    LLVMInitializeNVPTXTarget();
    LLVMInitializeNVPTXTargetMC();
    LLVMInitializeNVPTXAsmPrinter();
    return true;
  }();
  (void)isInitialised;
}

static const llvm::Target &targetOf(const llvm::Triple &triple) {
  initializeTargets();
  std::string error;
  const llvm::Target *target = llvm::TargetRegistry::lookupTarget(triple, error);
  if (!target)
    llvm::report_fatal_error(llvm::Twine(error));
  return *target;
}

/// A machine of an architecture's lowest level; functions name their own where it is higher.
static std::unique_ptr<llvm::TargetMachine> createMachine(const CpuTarget &lowest,
                                                          unsigned optLevel) {
  llvm::Triple triple(lowest.architecture->triple);
  auto level = llvm::CodeGenOpt::getLevel(int(optLevel)).value_or(llvm::CodeGenOptLevel::Default);
  return std::unique_ptr<llvm::TargetMachine>(targetOf(triple).createTargetMachine(
      triple, lowest.cpu, llvm::join(lowest.features, ","), llvm::TargetOptions(),
      llvm::Reloc::PIC_, std::nullopt, level));
}

std::string dataLayoutOf(const CpuArchitecture &architecture) {
  return createMachine(CpuTarget::lowestOf(architecture), 0)
      ->createDataLayout()
      .getStringRepresentation();
}

void registerLlvmTranslation(DialectRegistry &registry) {
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
}

std::unique_ptr<llvm::Module> translateToLlvmIr(ModuleOp module, llvm::LLVMContext &context,
                                                llvm::StringRef name) {
  DialectRegistry registry;
  registerLlvmTranslation(registry);
  module.getContext()->appendDialectRegistry(registry);
  auto result = translateModuleToLLVMIR(module, context, name);
  if (!result)
    return nullptr;
  // The file name goes into the object: say the model, never a path.
  result->setSourceFileName(name);
  return result;
}

std::string llvmPipeline(unsigned optLevel, bool isGpu) {
  std::string level = std::to_string(std::min(optLevel, 3u));
  if (isGpu)
    return "default<O" + level + ">";
  // Instruction selection takes most of the time at this level, and less of it behind these passes.
  if (optLevel == 0)
    return "function(sroa,early-cse,instcombine<no-verify-fixpoint>,simplifycfg)";
  // MLIR has folded and vectorised already: `default<O3>`, which runs most of these passes several
  // times over and puts kernels into their callers, gives code of the same speed and makes
  // compiling take half as long again (tools/bench/results/llvm-pipeline.md). Loops are unrolled
  // where their trip counts are known, others as the model of the CPU says. Without the passes
  // around that, sums spill.
  return "function(sroa,early-cse,simplifycfg,instcombine<no-verify-fixpoint>,"
         "loop-mssa(loop-rotate,licm),simplifycfg,instcombine<no-verify-fixpoint>,"
         "loop(indvars,loop-deletion,loop-unroll-full),gvn,instcombine<no-verify-fixpoint>,dse,"
         "loop-mssa(licm),simplifycfg,instcombine<no-verify-fixpoint>,loop-unroll<O" +
         level +
         ">,instcombine<no-verify-fixpoint>,loop-mssa(licm),simplifycfg),globaldce,constmerge";
}

namespace {
/// Counts the functions of a step, and tells of them.
class FunctionCounter {
public:
  FunctionCounter(const llvm::Module &module, CodegenProgress progress) : progress(progress) {
    for (const llvm::Function &function : module)
      all += !function.isDeclaration();
  }
  void begin(llvm::StringRef newStep) { step = newStep, done = 0; }
  void count() {
    if (progress && done < all) // a pipeline may go through the functions twice
      progress(step, ++done, all);
  }

private:
  CodegenProgress progress;
  llvm::StringRef step;
  size_t done = 0, all = 0;
};

/// Stands behind the passes that generate a function's code.
class CountFunctionPass : public llvm::FunctionPass {
public:
  explicit CountFunctionPass(FunctionCounter &counter) : FunctionPass(ID), counter(counter) {}
  bool runOnFunction(llvm::Function &) override {
    counter.count();
    return false;
  }
  void getAnalysisUsage(llvm::AnalysisUsage &usage) const override { usage.setPreservesAll(); }
  static char ID;

private:
  FunctionCounter &counter;
};
char CountFunctionPass::ID = 0;
} // namespace

static void optimise(llvm::Module &module, llvm::TargetMachine &machine, unsigned optLevel,
                     FunctionCounter &counter) {
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager components;
  llvm::ModuleAnalysisManager modules;
  // A CPU's code is vectors already; of a GPU's thread, halves and bytes may be paired.
  bool isGpu = machine.getTargetTriple().isNVPTX();
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = tuning.SLPVectorization = tuning.LoopInterleaving = isGpu;
  llvm::PassInstrumentationCallbacks callbacks;
  // The passes of a function are run as one.
  callbacks.registerAfterPassCallback(
      [&](llvm::StringRef pass, llvm::Any unit, const llvm::PreservedAnalyses &) {
        if (pass.starts_with("PassManager<") && llvm::any_cast<const llvm::Function *>(&unit))
          counter.count();
      });
  llvm::PassBuilder builder(&machine, tuning, std::nullopt, &callbacks);
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(components);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, components, modules);
  llvm::ModulePassManager passes;
  llvm::cantFail(builder.parsePassPipeline(passes, llvmPipeline(optLevel, isGpu)));
  passes.run(module, modules);
}

/// The one lane that a mask keeps.
static std::optional<unsigned> onlyLaneOf(llvm::Value *mask) {
  auto *constant = llvm::dyn_cast<llvm::Constant>(mask);
  std::optional<unsigned> only;
  if (!constant)
    return std::nullopt;
  auto *type = llvm::cast<llvm::FixedVectorType>(mask->getType());
  for (unsigned lane = 0; lane < type->getNumElements(); ++lane) {
    llvm::Constant *isKept = constant->getAggregateElement(lane);
    if (isKept && isKept->isNullValue())
      continue;
    if (only || !isKept || !isKept->isOneValue())
      return std::nullopt;
    only = lane;
  }
  return only;
}

/// Masked stores of one lane become stores of it. LLVM 22 would store all of the wide element of
/// which a truncated one is a part, over what lies behind it (llvm-project, issue 179489).
static void storeSingleLanes(llvm::Module &module) {
  llvm::SmallVector<llvm::IntrinsicInst *> stores;
  for (llvm::Function &function : module)
    for (llvm::Instruction &instruction : llvm::instructions(function))
      if (auto *call = llvm::dyn_cast<llvm::IntrinsicInst>(&instruction);
          call && call->getIntrinsicID() == llvm::Intrinsic::masked_store)
        stores.push_back(call);
  for (llvm::IntrinsicInst *store : stores) {
    llvm::Value *vector = store->getArgOperand(0), *pointer = store->getArgOperand(1);
    std::optional<unsigned> lane = onlyLaneOf(store->getArgOperand(2));
    if (!lane)
      continue;
    llvm::IRBuilder<> builder(store);
    llvm::Value *element = builder.CreateExtractElement(vector, *lane);
    llvm::Type *type = element->getType();
    builder.CreateAlignedStore(element, builder.CreateConstGEP1_32(type, pointer, *lane),
                               llvm::Align(type->getScalarSizeInBits() / 8));
    store->eraseFromParent();
  }
}

static bool hasLine(const llvm::DebugLoc &place) { return place && place.getLine() != 0; }

/// LLVM drops the places of what is shared by several instructions: it gets that of a user.
static void giveLines(llvm::Module &module) {
  for (llvm::Function &function : module)
    if (function.getSubprogram())
      for (llvm::BasicBlock *block : llvm::post_order(&function))
        for (llvm::Instruction &instruction : llvm::reverse(*block)) {
          if (hasLine(instruction.getDebugLoc()))
            continue;
          for (llvm::User *user : instruction.users())
            if (auto *known = llvm::dyn_cast<llvm::Instruction>(user);
                known && hasLine(known->getDebugLoc())) {
              instruction.setDebugLoc(known->getDebugLoc());
              break;
            }
        }
}

namespace {

/// Gives what the code generator adds, spills for one, the place of what stands in front of it in
/// its block, else of what comes next.
class GiveLines : public llvm::MachineFunctionPass {
public:
  GiveLines() : MachineFunctionPass(ID) {}
  llvm::StringRef getPassName() const override { return "Lines of the spec"; }
  void getAnalysisUsage(llvm::AnalysisUsage &usage) const override {
    usage.setPreservesAll();
    MachineFunctionPass::getAnalysisUsage(usage);
  }

  bool runOnMachineFunction(llvm::MachineFunction &function) override {
    if (!function.getFunction().getSubprogram())
      return false;
    llvm::DebugLoc last;
    for (llvm::MachineBasicBlock &block : llvm::reverse(function)) {
      llvm::DebugLoc before;
      fill(block, before);
      fill(llvm::reverse(block), last);
    }
    return true;
  }

private:
  static char ID;

  /// Instructions without a line get that of the last one before them, at first `last`.
  template <typename Range> static void fill(Range &&instructions, llvm::DebugLoc &last) {
    for (llvm::MachineInstr &instruction : instructions)
      if (hasLine(instruction.getDebugLoc()))
        last = instruction.getDebugLoc();
      else if (last)
        instruction.setDebugLoc(last);
  }
};

char GiveLines::ID = 0;

} // namespace

/// Adds what turns a module's functions into a file. addPassesToEmitFile of the machine would
/// follow the places of variables, too, of which there are none: only lines.
static void addCodeGenerator(llvm::legacy::PassManager &passes,
                             llvm::CodeGenTargetMachineImpl &machine, llvm::raw_pwrite_stream &os,
                             llvm::CodeGenFileType type, FunctionCounter &counter) {
  auto *info = new llvm::MachineModuleInfoWrapperPass(&machine); // the passes own it
  llvm::TargetPassConfig *config = machine.createPassConfig(passes);
  config->disablePass(&llvm::LiveDebugValuesID);
  passes.add(config);
  passes.add(info);
  bool isBroken = config->addISelPasses();
  config->addMachinePasses();
  passes.add(new GiveLines); // the passes own it
  config->setInitialized();
  if (isBroken || machine.addAsmPrinter(passes, os, nullptr, type, info->getMMI().getContext()))
    llvm::report_fatal_error("the code generator cannot write files");
  passes.add(llvm::createFreeMachineFunctionPass());
  passes.add(new CountFunctionPass(counter));
}

static llvm::SmallVector<char, 0> generate(llvm::Module &module, llvm::TargetMachine &machine,
                                           unsigned optLevel, CodegenOutput output,
                                           CodegenProgress progress) {
  module.setTargetTriple(machine.getTargetTriple());
  module.setDataLayout(machine.createDataLayout());
  FunctionCounter counter(module, progress);
  counter.begin("optimising");
  optimise(module, machine, optLevel, counter);
  storeSingleLanes(module);
  giveLines(module);
  llvm::SmallVector<char, 0> bytes;
  llvm::raw_svector_ostream os(bytes);
  llvm::legacy::PassManager passes;
  auto type = output == CodegenOutput::Object ? llvm::CodeGenFileType::ObjectFile
                                              : llvm::CodeGenFileType::AssemblyFile;
  addCodeGenerator(passes, static_cast<llvm::CodeGenTargetMachineImpl &>(machine), os, type,
                   counter);
  counter.begin("generating code of");
  passes.run(module);
  return bytes;
}

/// The lowest level of the architecture that a module names.
static const CpuTarget &lowestFor(const llvm::Module &module) {
  return *llvm::find_if(cpuTargets(), [&](const CpuTarget &level) {
    return level.architecture->triple == module.getTargetTriple().str();
  });
}

std::unique_ptr<llvm::MemoryBuffer> generateCode(llvm::Module &module, unsigned optLevel,
                                                 CodegenOutput output, CodegenProgress progress) {
  module.setPICLevel(llvm::PICLevel::BigPIC);
  std::unique_ptr<llvm::TargetMachine> machine = createMachine(lowestFor(module), optLevel);
  machine->Options.MCOptions.AsmVerbose = true; // assembly is for people
  return std::make_unique<llvm::SmallVectorMemoryBuffer>(
      generate(module, *machine, optLevel, output, progress), module.getName(),
      /*RequiresNullTerminator=*/false);
}

std::string generatePtx(llvm::Module &module, llvm::StringRef chip, llvm::StringRef features) {
  llvm::Triple triple("nvptx64-nvidia-cuda");
  std::unique_ptr<llvm::TargetMachine> machine(targetOf(triple).createTargetMachine(
      triple, chip, features, llvm::TargetOptions(), std::nullopt, std::nullopt,
      llvm::CodeGenOptLevel::Aggressive));
  auto text =
      generate(module, *machine, gpuOptLevel, CodegenOutput::Assembly, /*progress=*/nullptr);
  return {text.begin(), text.end()};
}

} // namespace attn
