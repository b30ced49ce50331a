// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/unit/kernels/KernelRunner.h"

#include "attn/abi.h"
#include "compiler/codegen/Codegen.h"
#include "compiler/cpu/Passes.h"
#include "compiler/emit/LowerToLlvm.h"
#include "compiler/gpu/Passes.h"
#include "compiler/gpu/ptx/Ptx.h"
#include "compiler/transforms/OutlineKernel.h"
#include "dialect/AttnDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Transforms/Passes.h"
#include "runtime/base/Features.h"
#include "test/gpu/interpreter/Launch.h"
#include "test/unit/kernels/Sample.h"
#include "test/unit/kernels/TileEmulator.h"
#include "llvm/Support/TargetSelect.h"
#include <gtest/gtest.h>

using namespace mlir;

namespace attn::test {

bool KernelRunner::supports(llvm::StringRef level) {
  if (isGpu(level))
    return true; // the interpreter
  const CpuTarget *target = CpuTarget::find(level);
  return target && (target->runsOnHost() || EmulatedKernels::supports(*target));
}

template <typename Options> static Options atLevel(llvm::StringRef level) {
  Options options;
  options.level = level.str();
  return options;
}

static bool runPasses(ModuleOp module, llvm::function_ref<void(PassManager &)> add) {
  PassManager passes(module.getContext());
  add(passes);
  if (succeeded(passes.run(module)))
    return true;
  ADD_FAILURE() << "a pass failed";
  return false;
}

/// The host's side to LLVM's dialect, kernels to PTX.
static bool lowerForGpu(ModuleOp module, llvm::StringRef level, GpuCode &code) {
  GpuKernelsPassOptions options;
  options.chip = level.split('.').first.str();
  options.multiprocessors = 4; // so that small tests have large tiles
  if (!runPasses(module,
                 [&](PassManager &passes) { passes.addPass(createGpuKernelsPass(options)); }))
    return false;
  auto taken = takeGpuCode(module);
  if (failed(taken)) {
    ADD_FAILURE() << "no PTX";
    return false;
  }
  code = std::move(*taken);
  generatePtx(code);
  return runPasses(module,
                   [](PassManager &passes) { buildLowerToLlvm(passes, cpuTargets().front()); });
}

/// Ends a kernel that stands alone in a module with a barrier, so that threads claim its pieces.
static bool shareOneKernel(ModuleOp module) {
  SmallVector<Operation *> kernels;
  module.walk([&](Operation *op) {
    if (isKernel(op))
      kernels.push_back(op);
  });
  if (kernels.size() != 1)
    return false;
  OpBuilder builder(module.getContext());
  builder.setInsertionPointAfter(kernels[0]);
  auto function = kernels[0]->getParentOfType<func::FuncOp>();
  BarrierOp::create(builder, function.getLoc(), function.getArgument(2), function.getArgument(3),
                    /*cost=*/nullptr);
  return true;
}

/// Everything to LLVM's dialect.
static bool lower(ModuleOp module, llvm::StringRef level) {
  return runPasses(module,
                   [&](PassManager &passes) {
                     passes.addPass(createTilePass(atLevel<TilePassOptions>(level)));
                     passes.addPass(createCheckTiledPass());
                     passes.addPass(createVectorizePass(atLevel<VectorizePassOptions>(level)));
                     passes.addPass(createExpandMathPass(atLevel<ExpandMathPassOptions>(level)));
                     passes.addPass(createCanonicalizerPass());
                     passes.addPass(createCSEPass());
                     passes.addPass(createCheckKernelsPass());
                   }) &&
         runPasses(module, [&](PassManager &passes) {
           buildLowerToLlvm(passes, *CpuTarget::find(level));
           passes.enableVerifier(false);
         });
}

/// Kernels as PTX, and the memory that they share with this process.
struct KernelRunner::Gpu {
  GpuCode code;
  ptx::Module module;
  ptx::Device device;
  int64_t blocks = 1;
  uint64_t launches = 0;

  void launch(int64_t kernel, const int64_t *arguments, int64_t count) {
    const GpuKernelInfo &info = code.kernels[kernel];
    std::vector<ptx::Argument> values(arguments, arguments + info.words);
    const int64_t *next = arguments + info.words;
    for (const GpuKernelInfo::TensorMap &map : info.maps) {
      size_t rank = map.box.size();
      std::vector<uint64_t> numbers(next, next + 2 * rank); // pointer, sizes, strides
      std::vector<uint32_t> box(map.box.begin(), map.box.end());
      auto swizzle = map.swizzle == 0 ? ptx::Swizzle::None
                                      : static_cast<ptx::Swizzle>(llvm::Log2_64(map.swizzle) - 4);
      ptx::TensorMap encoded;
      EXPECT_EQ("", ptx::encodeTiled(encoded, 2, int(rank), numbers[0], &numbers[1],
                                     &numbers[1 + rank], box.data(), swizzle))
          << info.name;
      values.emplace_back(encoded);
      next += 2 * rank;
    }
    EXPECT_EQ(arguments + count, next) << info.name;
    ptx::Options options;
    options.seed = ++launches; // another interleaving each time
    ptx::Result result =
        ptx::launch(device, module, info.name, {uint32_t(blocks)}, {uint32_t(info.threads)},
                    uint32_t(info.sharedBytes), values, options);
    EXPECT_EQ("", result.error) << info.name;
  }
};

std::unique_ptr<KernelRunner> KernelRunner::create(llvm::StringRef memoryStage,
                                                   llvm::StringRef level,
                                                   std::optional<unsigned> optLevel) {
  DialectRegistry registry;
  registerPtx(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  context.loadDialect<AttnDialect, arith::ArithDialect, func::FuncDialect, math::MathDialect,
                      memref::MemRefDialect, scf::SCFDialect, vector::VectorDialect>();
  auto module = parseSourceString<ModuleOp>(memoryStage, ParserConfig(&context));
  if (!module) {
    ADD_FAILURE() << "the memory-stage text is wrong";
    return nullptr;
  }
  if (level == "amx" && requestAmx())
    configureTiles(); // of this thread, for good
  auto runner = std::make_unique<KernelRunner>();
  if (isGpu(level)) {
    runner->gpu = std::make_unique<Gpu>();
    if (!lowerForGpu(*module, level, runner->gpu->code))
      return nullptr;
    runner->ptx = runner->gpu->code.ptx;
    runner->gpu->module = ptx::Module::parse(runner->ptx);
    runner->gpu->device.shareHost();
    EXPECT_TRUE(runner->gpu->module.errors.empty()) << runner->gpu->module.errors.front();
  } else {
    runner->hasOneKernel = shareOneKernel(*module);
    if (!lower(*module, level))
      return nullptr;
  }
  llvm::LLVMContext llvmContext;
  auto ir = translateToLlvmIr(*module, llvmContext, "kernel");
  if (!ir) {
    ADD_FAILURE() << "no LLVM IR";
    return nullptr;
  }
  auto object =
      generateCode(*ir, optLevel.value_or(optLevelOf(memoryStage, level)), CodegenOutput::Object);
  if (const CpuTarget *target = CpuTarget::find(level); target && !target->architecture->isHost()) {
    runner->emulated = EmulatedKernels::create(*target, *object);
    return runner->emulated ? std::move(runner) : nullptr;
  }
  auto jit = llvm::orc::LLJITBuilder().create();
  if (!jit) {
    ADD_FAILURE() << llvm::toString(jit.takeError());
    return nullptr;
  }
  runner->jit = std::move(*jit);
  llvm::orc::SymbolMap symbols;
  for (auto &[name, function] : tileEmulator())
    symbols[runner->jit->mangleAndIntern(name)] = {llvm::orc::ExecutorAddr::fromPtr(function),
                                                   llvm::JITSymbolFlags::Exported};
  llvm::cantFail(
      runner->jit->getMainJITDylib().define(llvm::orc::absoluteSymbols(std::move(symbols))));
  if (llvm::Error error = runner->jit->addObjectFile(std::move(object))) {
    ADD_FAILURE() << llvm::toString(std::move(error));
    return nullptr;
  }
  return runner;
}

void KernelRunner::runEmulated(llvm::StringRef name, int64_t threads, int64_t packed,
                               int64_t workspace, llvm::ArrayRef<int64_t> arguments) {
  KernelCall call = {};
  ASSERT_LT(name.size(), sizeof call.name);
  ASSERT_LE(int64_t(arguments.size()), KernelCall::maxArguments);
  llvm::copy(name, call.name);
  call.threads = threads, call.anyPieces = hasOneKernel;
  call.packed = packed, call.workspace = workspace;
  llvm::copy(arguments, call.arguments);
  emulated->run(call);
}

void *KernelRunner::address(llvm::StringRef name) {
  auto symbol = jit->lookup(name);
  if (symbol)
    return symbol->toPtr<void *>();
  ADD_FAILURE() << llvm::toString(symbol.takeError());
  return nullptr;
}

KernelRunner::KernelRunner() = default;
KernelRunner::~KernelRunner() = default;

attn_abi_call KernelRunner::teamOf(int64_t threads, PieceDealer &dealer) {
  attn_abi_call call = {};
  call.barrier = [](void *, int64_t, int64_t) {};
  call.claim = PieceDealer::claim;
  call.team = &dealer;
  if (gpu) {
    gpu->blocks = threads;
    call.team = gpu.get();
  }
  call.launch = [](void *team, int64_t kernel, const int64_t *arguments, int64_t count) {
    static_cast<Gpu *>(team)->launch(kernel, arguments, count);
  };
  return call;
}

} // namespace attn::test
