// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A module with gpu.func and launches to LLVM's code by MLIR's conversions to NVVM, and that to
// PTX.
#include "compiler/gpu/ptx/Ptx.h"
#include "compiler/codegen/Codegen.h"
#include "compiler/codegen/DebugLines.h"
#include "compiler/gpu/threads/Hopper.h"
#include "dialect/Attributes.h"
#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Export.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/IR/Module.h"

using namespace mlir;
using namespace attn;

void attn::registerPtx(DialectRegistry &registry) {
  registerBuiltinDialectTranslation(registry);
  registerGPUDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
  // How the conversion of kernels to NVVM finds what else is in them.
  arith::registerConvertArithToLLVMInterface(registry);
  cf::registerConvertControlFlowToLLVMInterface(registry);
  index::registerConvertIndexToLLVMInterface(registry);
  registerConvertMemRefToLLVMInterface(registry);
  registerConvertNVVMToLLVMInterface(registry);
  ub::registerConvertUBToLLVMInterface(registry);
  vector::registerConvertVectorToLLVMInterface(registry);
}

/// What only functions of LLVM's dialect can say of a kernel.
static void describeKernel(LLVM::LLVMFuncOp function, const GpuKernelInfo &info) {
  OpBuilder builder(function.getContext());
  if (info.maps.empty())
    return;
  // Tensor maps are passed by value; copies of them are no tensor maps.
  auto bytes = LLVM::LLVMArrayType::get(builder.getI8Type(), 128);
  for (unsigned i = info.words; i < function.getNumArguments(); ++i) {
    function.setArgAttr(i, LLVM::LLVMDialect::getByValAttrName(), TypeAttr::get(bytes));
    function.setArgAttr(i, LLVM::LLVMDialect::getAlignAttrName(), builder.getI64IntegerAttr(64));
    function.setArgAttr(i, NVVM::NVVMDialect::getGridConstantAttrName(), builder.getUnitAttr());
  }
  // Without it, the assembler takes no notice of setmaxnreg.
  function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(), builder.getI32IntegerAttr(1));
}

static void addLowering(OpPassManager &passes) {
  OpPassManager &inside = passes.nest<gpu::GPUModuleOp>();
  // LLVM drops blocks and block arguments that nothing uses: the PTX is the same, and MLIR would
  // look through all blocks again each time that a pattern has changed something.
  GreedyRewriteConfig canonical;
  canonical.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
  inside.addPass(createCanonicalizerPass(canonical));
  inside.addPass(createCSEPass());
  inside.addPass(memref::createExpandStridedMetadataPass());
  inside.addPass(createLowerAffinePass());
  SCFToControlFlowPassOptions loops;
  loops.allowPatternRollback = false;
  inside.addPass(createSCFToControlFlowPass(loops));
  inside.addPass(createConvertMathToLLVMPass());
  inside.addPass(createConvertVectorToLLVMPass());
  ConvertGpuOpsToNVVMOpsOptions kernels;
  kernels.useBarePtrCallConv = true;
  kernels.allowPatternRollback = false;
  inside.addPass(createConvertGpuOpsToNVVMOps(kernels));
  inside.addPass(createConvertIndexToLLVMPass());
  inside.addPass(createCanonicalizerPass(canonical));
  inside.addPass(createCSEPass());
  inside.addPass(createConvertNVVMToLLVMPass());
  inside.addPass(createReconcileUnrealizedCastsPass());
}

GpuKernelInfo GpuKernelInfo::of(gpu::GPUFuncOp function) {
  GpuKernelInfo info;
  info.name = function.getName().str();
  info.location = function.getLoc();
  info.kernel = info.name;
  if (auto kernel = function->getAttrOfType<StringAttr>(attributes::kernel))
    info.kernel = kernel.str();
  info.threads = (*function.getKnownBlockSize())[0];
  if (auto blocks = function->getAttrOfType<IntegerAttr>(attributes::blocks))
    info.blocks = blocks.getInt();
  if (auto shared = function->getAttrOfType<IntegerAttr>(attributes::shared))
    info.sharedBytes = shared.getInt();
  if (auto cost = function->getAttrOfType<StringAttr>(attributes::cost))
    info.cost = cost.str();
  if (auto maps = function->getAttrOfType<ArrayAttr>(attributes::maps))
    for (auto map : maps.getAsRange<DenseI64ArrayAttr>())
      info.maps.push_back({map[0], llvm::to_vector<5>(map.asArrayRef().drop_front())});
  info.words = static_cast<int64_t>(function.getNumArguments() - info.maps.size());
  function.walk([&](LLVM::CallIntrinsicOp op) {
    info.approximatesQuotients |=
        op.getIntrin() == "llvm.nvvm.div.full" || op.getIntrin() == "llvm.nvvm.rcp.approx.ftz.f";
  });
  return info;
}

struct GpuCode::Llvm {
  std::string features;
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> module;
};

GpuCode::GpuCode() = default;
GpuCode::GpuCode(GpuCode &&) = default;
GpuCode &GpuCode::operator=(GpuCode &&) = default;
GpuCode::~GpuCode() = default;

void attn::keepGpuKernel(ModuleOp module, llvm::StringRef kernel) {
  SymbolTableCollection symbols;
  module.walk([&](LaunchOp launch) {
    auto function = symbols.lookupNearestSymbolFrom<gpu::GPUFuncOp>(launch, launch.getKernelAttr());
    if (GpuKernelInfo::of(function).kernel != kernel)
      launch.erase();
  });
  module.walk([&](gpu::GPUFuncOp function) {
    if (GpuKernelInfo::of(function).kernel != kernel)
      function.erase();
  });
}

FailureOr<GpuCode> attn::takeGpuCode(ModuleOp module, bool hasLines) {
  auto gpuModule = *module.getOps<gpu::GPUModuleOp>().begin();
  auto target = cast<NVVM::NVVMTargetAttr>((*gpuModule.getTargets())[0]);
  GpuCode code;
  code.target = GpuTarget::find(target.getChip());
  for (auto function : gpuModule.getOps<gpu::GPUFuncOp>())
    code.kernels.push_back(GpuKernelInfo::of(function));
  // Alone: the host's functions are another's business.
  OwningOpRef<ModuleOp> alone = ModuleOp::create(module.getLoc());
  gpuModule->remove();
  alone->push_back(gpuModule);
  PassManager lowering(module.getContext());
  addLowering(lowering);
  lowering.enableVerifier(false); // LLVM verifies what comes out
  if (failed(lowering.run(*alone)))
    return failure();
  for (const GpuKernelInfo &info : code.kernels)
    describeKernel(gpuModule.lookupSymbol<LLVM::LLVMFuncOp>(info.name), info);
  if (hasLines)
    addDebugLines(gpuModule, /*areForDebuggers=*/false); // the assembler makes the table
  code.llvm = std::make_unique<GpuCode::Llvm>();
  code.llvm->features = target.getFeatures().str();
  code.llvm->module = translateModuleToLLVMIR(gpuModule, code.llvm->context);
  if (!code.llvm->module)
    return failure();
  return code;
}

void attn::generatePtx(GpuCode &code) {
  code.ptx = generatePtx(*code.llvm->module, code.target->name, code.llvm->features);
  code.llvm.reset();
}
