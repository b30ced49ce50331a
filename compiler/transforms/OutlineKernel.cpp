// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel inside a function to a function of its own and a call: what its buffers are made of
// becomes arguments, and how they are made is repeated inside.
#include "compiler/transforms/OutlineKernel.h"
#include "dialect/Attributes.h"
#include "dialect/Choices.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace attn;

SmallVector<DimOp> attn::dynamicDims(ModuleOp module) {
  SmallVector<DimOp> dims;
  for (DimOp dim : module.getOps<DimOp>())
    if (dim.getDynamic())
      dims.push_back(dim);
  return dims;
}

bool attn::isKernel(Operation *op) { return isa<KernelOpInterface>(op); }

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

/// What a kernel's function is called, after the function that it stands in and its layer.
static std::string nameOf(Operation *kernel, function_ref<bool(StringRef)> isTaken) {
  StringRef layer = nameOf(kernel->getLoc());
  if (layer.empty())
    layer = kernel->getName().stripDialect();
  std::string base = (kernel->getParentOfType<func::FuncOp>().getSymName() + "." + layer).str(),
              unique = base;
  for (unsigned i = 2; isTaken(unique); ++i)
    unique = base + "." + std::to_string(i);
  return unique;
}

SmallVector<NamedKernel> attn::kernelsOf(ModuleOp module) {
  SymbolTable symbols(module);
  StringSet<> names;
  SmallVector<NamedKernel> kernels;
  module.walk([&](Operation *op) {
    if (!isKernel(op))
      return;
    std::string name =
        nameOf(op, [&](StringRef text) { return symbols.lookup(text) || names.contains(text); });
    names.insert(name);
    kernels.push_back({op, std::move(name)});
  });
  return kernels;
}

StringAttr attn::costOf(Operation *kernel) {
  for (Operation *next = kernel->getNextNode(); next; next = next->getNextNode())
    if (auto barrier = dyn_cast<BarrierOp>(next))
      return barrier.getCostAttr() ? barrier.getCostAttr().getAttr() : StringAttr();
  return {};
}

namespace {

class Outliner {
public:
  Outliner(Operation *kernel, func::FuncOp caller, SymbolTable &symbols)
      : kernel(kernel), caller(caller), symbols(symbols), builder(kernel->getContext()) {}

  OutlinedKernel run();

private:
  /// What of the caller the kernel needs, cloned into the function where it is cheap to compute.
  void need(Value value);

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
  // Sizes are computed again from the dims, so that the kernel knows what divides them; what an
  // earlier kernel has counted is read by each that needs it.
  bool isRebuilt = op && (isa<memref::ReinterpretCastOp, RowsOp>(op) ||
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

OutlinedKernel Outliner::run() {
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
      builder, loc, nameOf(kernel, [&](StringRef name) { return symbols.lookup(name); }),
      builder.getFunctionType(TypeRange(ValueRange(operands)), {}));
  function.setPrivate();
  if (Attribute rows = caller->getAttr(attributes::rows))
    function->setAttr(attributes::rows, rows);
  symbols.insert(function);
  builder.setInsertionPoint(kernel);
  auto call = func::CallOp::create(builder, loc, function, operands);

  Block *body = function.addEntryBlock();
  builder.setInsertionPointToStart(body);
  IRMapping mapping;
  mapping.map(operands, body->getArguments());
  for (Operation *op : clones)
    builder.clone(*op, mapping);
  Operation *inside = builder.clone(*kernel, mapping);
  func::ReturnOp::create(builder, loc);
  kernel->erase();
  return {inside, function, call};
}

OutlinedKernel attn::outlineKernel(Operation *kernel, SymbolTable &symbols) {
  return Outliner(kernel, kernel->getParentOfType<func::FuncOp>(), symbols).run();
}
