// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// memory -> kernels, for a GPU: the host's functions stay as they are but for their kernels, each
// of which becomes a function of the GPU's module and a launch.
#include "compiler/Errors.h"
#include "compiler/cpu/MathBuilder.h"
#include "compiler/cpu/VectorizeRegion.h"
#include "compiler/gpu/Kernels.h"
#include "compiler/gpu/Passes.h"
#include "compiler/gpu/Warp.h"
#include "compiler/transforms/OutlineKernel.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "llvm/ADT/TypeSwitch.h"

namespace attn {
#define GEN_PASS_DEF_GPUKERNELSPASS
#include "compiler/gpu/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

/// What shared parts of code generation take for one lane.
static const CpuTarget lane{"gpu", /*lanes=*/1, /*registers=*/255, /*avx512=*/false};

std::optional<WorkerKind> attn::workerKindOf(Operation *kernel) {
  auto attention = dyn_cast<AttentionKernelOp>(kernel);
  if (isa<LinearKernelOp>(kernel) || (attention && usesTensorCores(attention)))
    return WorkerKind::Block;
  if (isa<RoundKernelOp>(kernel)) // rows are rounded where they are multiplied
    return std::nullopt;
  return WorkerKind::Warp;
}

/// A name that PTX can have: other characters of the layer's become `_`.
static std::string ptxName(StringRef name, const SymbolTable &taken) {
  std::string base = name.str();
  for (char &c : base)
    if (!llvm::isAlnum(c))
      c = '_';
  std::string unique = base;
  for (unsigned i = 2; taken.lookup(unique); ++i)
    unique = base + "_" + std::to_string(i);
  return unique;
}

namespace {

struct GpuKernelsPass : attn::impl::GpuKernelsPassBase<GpuKernelsPass> {
  using GpuKernelsPassBase::GpuKernelsPassBase;

  void runOnOperation() override;

private:
  LogicalResult move(Operation *kernel, SymbolTable &host, gpu::GPUModuleOp module,
                     SymbolTable &device);

  int64_t launches = 0;
};

} // namespace

/// The worker's number and how many there are.
static std::pair<Value, Value> workersOf(WorkerKind kind, OpBuilder &builder, Location loc) {
  IndexBuilder index(builder, loc);
  Value block = gpu::BlockIdOp::create(builder, loc, gpu::Dimension::x),
        blocks = gpu::GridDimOp::create(builder, loc, gpu::Dimension::x);
  if (kind == WorkerKind::Block)
    return {block, blocks};
  Value thread = gpu::ThreadIdOp::create(builder, loc, gpu::Dimension::x),
        warps = index.constant(blockThreads / Warp::lanes);
  Value own = index.div(thread, index.constant(Warp::lanes));
  return {index.add(index.mul(block, warps), own), index.mul(blocks, warps)};
}

static LogicalResult emit(Operation *kernel, const TilingContext &context) {
  return llvm::TypeSwitch<Operation *, LogicalResult>(kernel)
      .Case([&](LinearKernelOp op) { return emitLinear(op, context); })
      .Case([&](AttentionKernelOp op) { return emitAttention(op, context); })
      .Case([&](CombineKernelOp op) {
        emitCombine(op, context);
        return success();
      })
      .Case<NormKernelOp, MapKernelOp, MeanKernelOp, LookupKernelOp, RotaryKernelOp>(
          [&](Operation *op) { return emitRowKernel(op, context); })
      .Default([](Operation *op) {
        return emitErrorOf(ErrorKind::Input, op->getLoc())
               << "linears of int8 and int4 have no code for GPUs yet";
      });
}

/// Elements that hooks read.
static void lowerElements(Operation *root) {
  SmallVector<ElementOp> elements;
  root->walk([&](ElementOp op) { elements.push_back(op); });
  for (ElementOp op : elements) {
    OpBuilder builder(op);
    op.getResult().replaceAllUsesWith(
        loadElement(builder, op.getLoc(), op.getTensor(), op.getPositions(), 1));
    op.erase();
  }
}

/// A table of constants, copied into the GPU's module when it is first read there.
static Value tableIn(SymbolTable &device, memref::GetGlobalOp table, const SymbolTable &host,
                     OpBuilder &builder) {
  if (!device.lookup(table.getName()))
    device.insert(host.lookup(table.getName())->clone());
  return memref::GetGlobalOp::create(builder, table.getLoc(), table.getType(), table.getName());
}

/// What is left of math are instructions. As ops of math, or of LLVM, the conversion to NVVM would
/// make them calls of NVIDIA's library.
static void nameInstructions(Operation *root) {
  SmallVector<std::pair<Operation *, StringRef>> calls;
  root->walk([&](Operation *op) {
    StringRef name =
        llvm::TypeSwitch<Operation *, StringRef>(op)
            .Case([](math::SqrtOp) { return "llvm.sqrt"; })
            .Case([](math::FmaOp) { return "llvm.fma"; })
            .Case([](math::AbsFOp) { return "llvm.fabs"; })
            .Case([](math::CeilOp) { return "llvm.ceil"; })
            .Case([](math::FloorOp) { return "llvm.floor"; })
            .Case([](math::TruncOp) { return "llvm.trunc"; })
            .Case([](math::RoundEvenOp) { return "llvm.roundeven"; })
            .Case([](math::CopySignOp) { return "llvm.copysign"; })
            // Maxima that NaN may disturb are expanded.
            .Case<arith::MaxNumFOp, arith::MaximumFOp>([](Operation *) { return "llvm.maxnum"; })
            .Case<arith::MinNumFOp, arith::MinimumFOp>([](Operation *) { return "llvm.minnum"; })
            .Default([](Operation *) { return ""; });
    if (!name.empty())
      calls.push_back({op, name});
  });
  for (auto [op, name] : calls) {
    OpBuilder builder(op);
    auto call = LLVM::CallIntrinsicOp::create(builder, op->getLoc(), op->getResult(0).getType(),
                                              builder.getStringAttr(name), op->getOperands());
    op->replaceAllUsesWith(call.getOperation());
    op->erase();
  }
}

LogicalResult GpuKernelsPass::move(Operation *kernel, SymbolTable &host, gpu::GPUModuleOp module,
                                   SymbolTable &device) {
  std::optional<WorkerKind> kind = workerKindOf(kernel);
  OutlinedKernel outlined = outlineKernel(kernel, host);
  SmallVector<Value> given; // all arguments but tables and workers
  for (Value operand : outlined.call.getOperands().drop_back(2))
    if (!operand.getDefiningOp<memref::GetGlobalOp>())
      given.push_back(operand);
  if (kind) {
    OpBuilder builder(&getContext());
    builder.setInsertionPointToEnd(module.getBody());
    Location loc = outlined.function.getLoc();
    auto function =
        gpu::GPUFuncOp::create(builder, loc, ptxName(outlined.function.getSymName(), device),
                               builder.getFunctionType(ValueRange(given).getTypes(), {}));
    function->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), builder.getUnitAttr());
    function.setKnownBlockSize(ArrayRef<int32_t>{static_cast<int32_t>(blockThreads), 1, 1});
    device.insert(function);
    Block &from = outlined.function.getBody().front(), &to = function.getBody().front();
    builder.setInsertionPointToStart(&to);
    auto [worker, workers] = workersOf(*kind, builder, loc);
    SmallVector<Value> arguments;
    auto next = to.args_begin();
    for (Value operand : outlined.call.getOperands().drop_back(2)) {
      auto table = operand.getDefiningOp<memref::GetGlobalOp>();
      arguments.push_back(table ? tableIn(device, table, host, builder) : Value(*next++));
    }
    arguments.append({worker, workers});
    for (auto [argument, value] : llvm::zip_equal(from.getArguments(), arguments))
      argument.replaceAllUsesWith(value);
    from.getTerminator()->erase();
    to.getOperations().splice(to.end(), from.getOperations());
    builder.setInsertionPointToEnd(&to);
    gpu::ReturnOp::create(builder, loc);
    if (failed(emit(outlined.kernel, TilingContext{lane, worker, workers})))
      return failure();
    outlined.kernel->erase();
    lowerElements(function);
    lowerRanges(function);
    builder.setInsertionPoint(outlined.call);
    auto symbol =
        SymbolRefAttr::get(module.getSymNameAttr(), FlatSymbolRefAttr::get(function.getNameAttr()));
    LaunchOp::create(builder, loc, symbol, given, launches++);
  }
  outlined.call.erase();
  host.erase(outlined.function);
  return success();
}

void GpuKernelsPass::runOnOperation() {
  ModuleOp root = getOperation();
  OpBuilder builder = OpBuilder::atBlockEnd(root.getBody());
  auto target = NVVM::NVVMTargetAttr::get(&getContext(), /*optLevel=*/3, "nvptx64-nvidia-cuda",
                                          chip, "+ptx80");
  auto module = gpu::GPUModuleOp::create(builder, root.getLoc(), "attn_kernels",
                                         builder.getArrayAttr(target));
  SymbolTable host(root), device(module);
  dropParts(root);
  SmallVector<Operation *> kernels;
  root.walk([&](Operation *op) {
    if (isKernel(op))
      kernels.push_back(op);
  });
  for (Operation *kernel : kernels)
    if (failed(move(kernel, host, module, device)))
      return signalPassFailure();
  expandMath(module, lane);
  nameInstructions(module);
  // What is launched later waits for what was launched before.
  root.walk([](BarrierOp op) { op.erase(); });
}
