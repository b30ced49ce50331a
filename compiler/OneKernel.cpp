// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A module of any stage to the part of it that belongs to one kernel: ops at the kernel's place
// become functions of their own before `memory`, and functions that nothing refers to are dropped
// after.
#include "compiler/OneKernel.h"
#include "compiler/transforms/OutlineKernel.h"
#include "dialect/AttnDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace attn;

/// The parts of what was fused, each with its name.
static void addParts(Location loc, DenseSet<Attribute> &parts) {
  auto fused = dyn_cast<FusedLoc>(loc);
  if (!fused)
    parts.insert(loc);
  else
    llvm::for_each(fused.getLocations(), [&](Location part) { addParts(part, parts); });
}

/// `ops` of one block, in its order, as a function of their own: it takes what they read and
/// returns what others read of them.
static void buildFunction(ArrayRef<Operation *> ops, StringRef name, SymbolTable &symbols) {
  DenseSet<Operation *> own(ops.begin(), ops.end());
  auto isOwn = [&](Operation *op) {
    for (; op; op = op->getParentOp())
      if (own.contains(op))
        return true;
    return false;
  };
  SetVector<Value> read;
  SmallVector<Value> returned;
  SetVector<Operation *> constants;
  for (Operation *op : ops) {
    SetVector<Value> values;
    values.insert_range(op->getOperands());
    getUsedValuesDefinedAbove(op->getRegions(), values);
    for (Value value : values) {
      Operation *source = value.getDefiningOp();
      if (source && source->hasTrait<OpTrait::ConstantLike>() && !isOwn(source))
        constants.insert(source);
      else if (!source || !isOwn(source))
        read.insert(value);
    }
    for (Value result : op->getResults())
      if (llvm::any_of(result.getUsers(), [&](Operation *user) { return !isOwn(user); }))
        returned.push_back(result);
  }
  OpBuilder builder(ops.front()->getContext());
  Location loc = ops.front()->getLoc();
  auto type = builder.getFunctionType(TypeRange(ValueRange(read.getArrayRef())),
                                      TypeRange(ValueRange(returned)));
  auto function = func::FuncOp::create(builder, loc, name, type);
  symbols.insert(function); // under another name where there is one already
  Block *body = function.addEntryBlock();
  builder.setInsertionPointToStart(body);
  IRMapping mapping;
  mapping.map(read.getArrayRef(), body->getArguments());
  for (Operation *op : constants)
    builder.clone(*op, mapping);
  for (Operation *op : ops)
    builder.clone(*op, mapping);
  SmallVector<Value> results;
  for (Value value : returned)
    results.push_back(mapping.lookup(value));
  func::ReturnOp::create(builder, loc, results);
}

/// Functions of the ops on tensors that become the kernel at `place`.
static void buildFunctions(ModuleOp module, StringRef name, const KernelPlace &place,
                           SymbolTable &symbols) {
  DenseSet<Attribute> wanted;
  addParts(place.location, wanted);
  // The last layer has a function of its own from Fused on, whose ops lie at the same places.
  bool isKnown = symbols.lookup(place.function);
  llvm::MapVector<Block *, SmallVector<Operation *>> ops;
  module.walk<WalkOrder::PreOrder>([&](Operation *op) {
    auto function = op->getParentOfType<func::FuncOp>();
    if (!function || (isKnown && function.getSymName() != place.function))
      return WalkResult::advance();
    DenseSet<Attribute> own;
    addParts(op->getLoc(), own);
    if (op->hasTrait<OpTrait::IsTerminator>() ||
        !llvm::all_of(own, [&](Attribute part) { return wanted.contains(part); }))
      return WalkResult::advance();
    ops[op->getBlock()].push_back(op);
    return WalkResult::skip();
  });
  for (auto &[block, group] : ops)
    buildFunction(group, name, symbols);
}

/// What nothing that is kept refers to; sizes of dims stay.
static void dropUnused(ModuleOp module, const DenseSet<Operation *> &kept) {
  for (auto function : llvm::make_early_inc_range(module.getOps<func::FuncOp>()))
    if (!kept.contains(function))
      function.erase();
  bool isDone = false;
  while (!isDone) {
    isDone = true;
    for (Operation &op : llvm::make_early_inc_range(*module.getBody()))
      if (isa<SymbolOpInterface>(op) && !isa<DimOp, func::FuncOp>(op) &&
          SymbolTable::symbolKnownUseEmpty(&op, module)) {
        op.erase();
        isDone = false;
      }
  }
}

void attn::keepOneKernel(ModuleOp module, Stage stage, StringRef name, const KernelPlace &place) {
  DenseSet<Operation *> before, kept;
  for (auto function : module.getOps<func::FuncOp>())
    before.insert(function);
  SymbolTable symbols(module);
  if (stage == Stage::Memory) {
    for (const NamedKernel &kernel : kernelsOf(module))
      outlineKernel(kernel.kernel, symbols);
  } else if (stage < Stage::Memory) {
    buildFunctions(module, name, place, symbols);
  }
  for (auto function : module.getOps<func::FuncOp>()) {
    bool isKernel =
        stage < Stage::Memory ? !before.contains(function) : function.getSymName() == name;
    if (!isKernel)
      continue;
    function.setPublic(); // nothing calls it any more
    kept.insert(function);
  }
  dropUnused(module, kept);
}
