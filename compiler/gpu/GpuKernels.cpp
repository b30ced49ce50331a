// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// memory -> kernels, for a GPU: the host's functions stay as they are but for their kernels, each
// of which becomes a function of the GPU's module and a launch.
#include "compiler/gpu/Passes.h"
#include "compiler/gpu/attention/Attention.h"
#include "compiler/gpu/linear/Linear.h"
#include "compiler/gpu/ptx/Ptx.h"
#include "compiler/gpu/rows/Rows.h"
#include "compiler/gpu/threads/Warp.h"
#include "compiler/kernels/MathBuilder.h"
#include "compiler/kernels/VectorizeRegion.h"
#include "compiler/transforms/OutlineKernel.h"
#include "dialect/Attributes.h"
#include "dialect/Choices.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/TypeSwitch.h"

namespace attn {
#define GEN_PASS_DEF_GPUKERNELSPASS
#include "compiler/gpu/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

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
  /// The GPU's module, and the symbols of both.
  struct Modules {
    gpu::GPUModuleOp gpu;
    SymbolTable &host, &device;
  };
  LogicalResult move(const NamedKernel &named, Modules modules);
  FailureOr<gpu::GPUFuncOp> build(OutlinedKernel &outlined, ValueRange given,
                                  const KernelLaunch &launch, StringAttr cost, Modules modules);

  const GpuTarget *target = nullptr;
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

/// What an earlier kernel has counted: on the GPU it is read, the host takes the bound.
static void lowerRows(Operation *root, bool isHost) {
  SmallVector<RowsOp> counts;
  root->walk([&](RowsOp op) { counts.push_back(op); });
  for (RowsOp op : counts) {
    OpBuilder builder(op);
    Value count = op.getMost();
    if (!isHost)
      count =
          arith::IndexCastOp::create(builder, op.getLoc(), op.getType(),
                                     memref::LoadOp::create(builder, op.getLoc(), op.getPointer()));
    op.replaceAllUsesWith(count);
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

/// Arguments of a kernel for its tensor maps.
static SmallVector<Value> addTensorMaps(gpu::GPUFuncOp function, const KernelLaunch &launch) {
  OpBuilder builder(function.getContext());
  auto pointer = LLVM::LLVMPointerType::get(builder.getContext());
  SmallVector<Value> maps;
  SmallVector<Attribute> boxes;
  for (const TensorMap &map : launch.maps) {
    unsigned position = function.getNumArguments();
    (void)function.insertArgument(position, pointer, DictionaryAttr(), function.getLoc());
    maps.push_back(function.getArgument(position));
    SmallVector<int64_t> numbers{swizzleBytes};
    llvm::append_range(numbers, map.box);
    boxes.push_back(builder.getDenseI64ArrayAttr(numbers));
  }
  if (!maps.empty())
    function->setAttr(attributes::maps, builder.getArrayAttr(boxes));
  return maps;
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

/// Whether a divisor is 1 and more by its form, as that of a sigmoid: 1 + exp(x).
static bool isOneAndMore(Value divisor) {
  auto sum = divisor.getDefiningOp<arith::AddFOp>();
  if (!sum)
    return false;
  auto isOne = [](Value value) { return matchPattern(value, m_OneFloat()); };
  auto isPositive = [](Value value) {
    return isa_and_present<math::ExpOp, math::Exp2Op, math::AbsFOp>(value.getDefiningOp());
  };
  return (isOne(sum.getLhs()) && isPositive(sum.getRhs())) ||
         (isOne(sum.getRhs()) && isPositive(sum.getLhs()));
}

/// Division rounded to the nearest is a subroutine; of sigmoids and the like a few instructions do,
/// 2 units of the last place off at most, if the divisor is infinite, too (PTX ISA 9.7.3.8).
static void approximateDivisions(Operation *root) {
  SmallVector<arith::DivFOp> divisions;
  root->walk([&](arith::DivFOp op) {
    if (op.getType().isF32() && isOneAndMore(op.getRhs()))
      divisions.push_back(op);
  });
  for (arith::DivFOp op : divisions) {
    OpBuilder builder(op);
    auto quotient = LLVM::CallIntrinsicOp::create(builder, op.getLoc(), op.getType(),
                                                  builder.getStringAttr("llvm.nvvm.div.full"),
                                                  op.getOperands());
    op.replaceAllUsesWith(quotient.getOperation());
    op.erase();
  }
}

static KernelLaunches launchesOfKernel(Operation *kernel, const LaunchOptions &options) {
  return llvm::TypeSwitch<Operation *, KernelLaunches>(kernel)
      .Case<LinearKernelOp, AttentionKernelOp>([&](auto op) { return launchesOf(op, options); })
      .Case([](CombineKernelOp op) { return launchesOf(op); })
      .Default([](Operation *op) { return launchesOfRows(op); });
}

/// A kernel's function on the GPU. All arguments but tables and workers are `given`.
FailureOr<gpu::GPUFuncOp> GpuKernelsPass::build(OutlinedKernel &outlined, ValueRange given,
                                                const KernelLaunch &launch, StringAttr cost,
                                                Modules modules) {
  Location loc = outlined.function.getLoc();
  std::string name = outlined.function.getSymName().str() + launch.suffix;
  OpBuilder builder(&getContext());
  builder.setInsertionPointToEnd(modules.gpu.getBody());
  auto function = gpu::GPUFuncOp::create(builder, loc, ptxName(name, modules.device),
                                         builder.getFunctionType(given.getTypes(), {}));
  function->setAttr(gpu::GPUDialect::getKernelFuncAttrName(), builder.getUnitAttr());
  function->setAttr(attributes::blocks, builder.getI64IntegerAttr(launch.blocks));
  function->setAttr(attributes::shared, builder.getI64IntegerAttr(launch.sharedBytes));
  if (watchdog)
    function->setAttr(attributes::watchdog, builder.getI64IntegerAttr(launches));
  if (cost)
    function->setAttr(attributes::cost, cost);
  if (launch.resident)
    function->setAttr(NVVM::NVVMDialect::getMinctasmAttrName(),
                      builder.getI32IntegerAttr(static_cast<int32_t>(launch.resident)));
  function.setKnownBlockSize(ArrayRef<int32_t>{static_cast<int32_t>(launch.threads), 1, 1});
  modules.device.insert(function);
  Block &from = outlined.function.getBody().front(), &to = function.getBody().front();
  builder.setInsertionPointToStart(&to);
  if (overlap && target->hasWarpGroups) {
    // The next kernel may take its place already; what this one reads may only now be there. It
    // waits for the end of the one before, which has waited for all before that.
    using Kind = NVVM::GridDepActionKind;
    for (Kind kind : {Kind::launch_dependents, Kind::wait})
      NVVM::GriddepcontrolOp::create(builder, loc, kind);
  }
  auto [worker, workers] = workersOf(launch.workers, builder, loc);
  IRMapping mapping;
  auto next = to.args_begin();
  for (auto [argument, operand] :
       llvm::zip(from.getArguments().drop_back(2), outlined.call.getOperands().drop_back(2))) {
    auto table = operand.getDefiningOp<memref::GetGlobalOp>();
    mapping.map(argument,
                table ? tableIn(modules.device, table, modules.host, builder) : Value(*next++));
  }
  mapping.map(outlined.worker(), worker), mapping.map(outlined.workers(), workers);
  Operation *kernel = nullptr;
  for (Operation &op : from.without_terminator()) {
    Operation *copy = builder.clone(op, mapping);
    kernel = isKernel(copy) ? copy : kernel;
  }
  gpu::ReturnOp::create(builder, loc);
  SmallVector<Value> maps = addTensorMaps(function, launch);
  TilingContext context{gpuLane, worker, workers, /*interleaves=*/true};
  if (failed(launch.emit(kernel, context, maps)))
    return failure();
  kernel->erase();
  lowerElements(function);
  lowerRows(function, /*isHost=*/false);
  lowerRanges(function);
  return function;
}

LogicalResult GpuKernelsPass::move(const NamedKernel &named, Modules modules) {
  Operation *kernel = named.kernel;
  StringAttr cost = costOf(kernel);
  auto launches = launchesOfKernel(kernel, {*target, multiprocessors, bulkStores});
  if (failed(launches))
    return failure();
  OutlinedKernel outlined = outlineKernel(kernel, modules.host);
  SmallVector<Value> given;
  for (Value operand : outlined.call.getOperands().drop_back(2))
    if (!operand.getDefiningOp<memref::GetGlobalOp>())
      given.push_back(operand);
  OpBuilder builder(outlined.call);
  IndexBuilder index(builder, outlined.call.getLoc());
  bool failed = false;
  std::function<void(ArrayRef<KernelLaunch>)> launch = [&](ArrayRef<KernelLaunch> rest) {
    auto one = [&](const KernelLaunch &launch) {
      auto function = build(outlined, given, launch, cost, modules);
      if (mlir::failed(function)) {
        failed = true;
        return;
      }
      (*function)->setAttr(attributes::kernel, builder.getStringAttr(named.name));
      auto symbol = SymbolRefAttr::get(modules.gpu.getSymNameAttr(),
                                       FlatSymbolRefAttr::get(function->getNameAttr()));
      SmallVector<Value> words(given);
      for (const TensorMap &map : launch.maps)
        llvm::append_range(words, map.words);
      LaunchOp::create(builder, index.loc, symbol, words, this->launches++);
    };
    if (!rest.front().condition)
      return one(rest.front());
    choose(
        index, rest.front().condition, [&] { one(rest.front()); },
        [&] { launch(rest.drop_front()); });
  };
  if (!launches->empty())
    launch(*launches);
  outlined.call.erase();
  modules.host.erase(outlined.function);
  return mlir::failure(failed);
}

void GpuKernelsPass::runOnOperation() {
  ModuleOp root = getOperation();
  target = GpuTarget::find(chip);
  if (!target) {
    root.emitError() << "unknown GPU '" << chip << "'";
    return signalPassFailure();
  }
  OpBuilder builder = OpBuilder::atBlockEnd(root.getBody());
  auto compiledFor = NVVM::NVVMTargetAttr::get(&getContext(), /*optLevel=*/3, "nvptx64-nvidia-cuda",
                                               target->name, target->features);
  auto module = gpu::GPUModuleOp::create(builder, root.getLoc(), "attn_kernels",
                                         builder.getArrayAttr(compiledFor));
  SymbolTable host(root), device(module);
  dropParts(root, *target);
  for (const NamedKernel &named : kernelsOf(root))
    if (failed(move(named, {module, host, device})))
      return signalPassFailure();
  approximateDivisions(module);
  expandMath(module, gpuLane);
  nameInstructions(module);
  // What is launched later waits for what was launched before.
  root.walk([](BarrierOp op) { op.erase(); });
  lowerRows(root, /*isHost=*/true);
}
