// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// memory -> tiled: every kernel op becomes a call of a function of its own, named after the layer
// it computes, that holds its loops over tiles for one thread of the team.
#include "compiler/cpu/KernelRemarks.h"
#include "compiler/cpu/Kernels.h"
#include "compiler/cpu/Passes.h"
#include "compiler/transforms/KernelChoice.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/UB/IR/UBOps.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/TypeSwitch.h"

namespace attn {
#define GEN_PASS_DEF_TILEPASS
#define GEN_PASS_DEF_CHECKTILEDPASS
#include "compiler/cpu/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

static bool isKernel(Operation *op) {
  return isa<LinearKernelOp, RoundKernelOp, QuantizeKernelOp, NormKernelOp, MapKernelOp,
             MeanKernelOp, LookupKernelOp, RotaryKernelOp, AttentionKernelOp, CombineKernelOp>(op);
}

/// The innermost name that a location carries: the layer's path in the spec.
static StringRef nameOf(Location loc) {
  if (auto name = dyn_cast<NameLoc>(loc))
    return name.getName();
  if (auto fused = dyn_cast<FusedLoc>(loc))
    for (Location part : fused.getLocations())
      if (StringRef name = nameOf(part); !name.empty())
        return name;
  return {};
}

namespace {

/// Moves one kernel into a function: its buffers are rebuilt there from pointers and sizes.
class Outliner {
public:
  Outliner(Operation *kernel, func::FuncOp caller, SymbolTable &symbols)
      : kernel(kernel), caller(caller), symbols(symbols), builder(kernel->getContext()) {}

  /// The kernel in its function, which is called where the kernel was.
  Operation *run();
  Value thread, threads; // in the function

private:
  /// What of the caller the kernel needs, cloned into the function where it is cheap to compute.
  void need(Value value);
  std::string name();

  Operation *kernel;
  func::FuncOp caller;
  SymbolTable &symbols;
  OpBuilder builder;
  SetVector<Value> arguments;
  SetVector<Operation *> clones; // in order
};

} // namespace

void Outliner::need(Value value) {
  Operation *op = value.getDefiningOp();
  // Sizes are computed again from the dims, so that the kernel knows what divides them.
  bool isRebuilt = op && (isa<memref::ReinterpretCastOp>(op) ||
                          (isa<arith::MulIOp, arith::AddIOp>(op) && value.getType().isIndex()) ||
                          op->hasTrait<OpTrait::ConstantLike>());
  // Only pointers can be passed: a buffer's pointer is a memref of rank 0.
  if (auto view = llvm::dyn_cast_if_present<memref::ReinterpretCastOp>(op))
    isRebuilt = view.getType().getRank() > 0;
  if (!isRebuilt) {
    arguments.insert(value);
    return;
  }
  for (Value operand : op->getOperands())
    need(operand);
  clones.insert(op);
}

std::string Outliner::name() {
  StringRef layer = nameOf(kernel->getLoc());
  if (layer.empty())
    layer = kernel->getName().stripDialect();
  std::string base = (caller.getSymName() + "." + layer).str(), unique = base;
  for (unsigned i = 2; symbols.lookup(unique); ++i)
    unique = base + "." + std::to_string(i);
  return unique;
}

Operation *Outliner::run() {
  // The threads' own index and count are the caller's fourth and fifth arguments.
  Value ownThread = caller.getArgument(3), ownThreads = caller.getArgument(4);
  for (Value operand : kernel->getOperands())
    need(operand);
  SetVector<Value> captured;
  getUsedValuesDefinedAbove(kernel->getRegions(), captured);
  for (Value value : captured)
    need(value);
  arguments.remove(ownThread), arguments.remove(ownThreads);

  SmallVector<Value> operands = arguments.takeVector();
  operands.append({ownThread, ownThreads});
  Location loc = kernel->getLoc();
  builder.setInsertionPoint(caller);
  auto function = func::FuncOp::create(
      builder, loc, name(), builder.getFunctionType(TypeRange(ValueRange(operands)), {}));
  function.setPrivate();
  symbols.insert(function);
  builder.setInsertionPoint(kernel);
  func::CallOp::create(builder, loc, function, operands);

  Block *body = function.addEntryBlock();
  builder.setInsertionPointToStart(body);
  IRMapping mapping;
  mapping.map(operands, body->getArguments());
  for (Operation *op : clones)
    builder.clone(*op, mapping);
  Operation *inside = builder.clone(*kernel, mapping);
  func::ReturnOp::create(builder, loc);
  thread = mapping.lookup(ownThread), threads = mapping.lookup(ownThreads);
  kernel->erase();
  return inside;
}

namespace {

struct TilePass : attn::impl::TilePassBase<TilePass> {
  using TilePassBase::TilePassBase;

  FailureOr<std::string> tile(Operation *kernel, const TilingContext &context) {
    return llvm::TypeSwitch<Operation *, FailureOr<std::string>>(kernel)
        .Case([&](LinearKernelOp op) { return tileLinear(op, context); })
        .Case([&](RoundKernelOp op) { return tileRound(op, context); })
        .Case([&](QuantizeKernelOp op) { return tileQuantize(op, context); })
        .Case([&](NormKernelOp op) { return tileNorm(op, context); })
        .Case([&](MapKernelOp op) { return tileMap(op, context); })
        .Case([&](MeanKernelOp op) { return tileMean(op, context); })
        .Case([&](LookupKernelOp op) { return tileLookup(op, context); })
        .Case([&](RotaryKernelOp op) { return tileRotary(op, context); })
        .Case([&](AttentionKernelOp op) { return tileAttention(op, context); })
        .Case([&](CombineKernelOp op) { return combineParts(op, context); });
  }

  void runOnOperation() override {
    std::optional<CpuTarget> target = CpuTarget::of(level);
    if (!target) {
      getOperation().emitError() << "unknown CPU level '" << level << "'";
      return signalPassFailure();
    }
    SymbolTable symbols(getOperation());
    SmallVector<Operation *> kernels;
    getOperation().walk([&](Operation *op) {
      if (isKernel(op))
        kernels.push_back(op);
    });
    for (Operation *kernel : kernels) {
      Outliner outliner(kernel, kernel->getParentOfType<func::FuncOp>(), symbols);
      Operation *inside = outliner.run();
      std::string what = describeKernel(inside);
      auto tiles = tile(inside, TilingContext{*target, outliner.thread, outliner.threads});
      if (failed(tiles))
        return signalPassFailure();
      remarkTiled(inside, *target, what + "; " + *tiles);
      inside->erase();
    }
    dropChoices(getOperation()); // the code is what became of them
  }
};

struct CheckTiledPass : attn::impl::CheckTiledPassBase<CheckTiledPass> {
  void runOnOperation() override {
    getOperation().walk([&](Operation *op) {
      if (!isKernel(op))
        return;
      op->emitError("tiled stage: a kernel is left that was not tiled");
      signalPassFailure();
    });
  }
};

} // namespace
