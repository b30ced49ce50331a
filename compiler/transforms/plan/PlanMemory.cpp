// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// fused -> memory: every tensor gets its place. A function on tensors becomes one on pointers:
//
//   func @Block(%n: index, %x: tensor<?x197x768xf32, ...>) -> tensor<...>
//   ->
//   func @Block(%packed, %workspace, %call: memref<i8>, %thread, %threads, %B, %n: index, %x, %out:
//   memref<f32>)
//
// Every thread of the team runs the whole function; kernels divide their work by (%thread,
// %threads), with a barrier after each. Buffers are slots of one frame in the workspace, reused
// when their last reader has run; a concat's parts and a function's results are computed in place,
// and so is a residual stream; else a stack's layers go back and forth between two buffers.
#include "compiler/transforms/Passes.h"
#include "compiler/transforms/plan/Function.h"
#include "dialect/Attributes.h"
#include "dialect/Caches.h"

namespace attn {
#define GEN_PASS_DEF_PLANMEMORYPASS
#include "compiler/transforms/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;
using namespace attn::planning;

/// Bytes of workspace that an entry needs.
static void createWorkspaceFunction(ModulePlan &plan, StringRef entry, Location loc,
                                    OpBuilder builder) {
  SmallVector<Type> types(1 + plan.dims.size(), builder.getIndexType());
  auto function = func::FuncOp::create(builder, loc, ("workspace." + entry).str(),
                                       builder.getFunctionType(types, builder.getIndexType()));
  function.setPrivate();
  Block *body = function.addEntryBlock();
  builder.setInsertionPointToStart(body);
  auto dim = [&](StringRef name) -> Value {
    size_t position =
        name == "#threads" ? 0 : 1 + (llvm::find(plan.dims, name) - plan.dims.begin());
    return body->getArgument(position);
  };
  func::ReturnOp::create(builder, loc, plan.frames[entry].emit(builder, loc, dim));
}

namespace {

struct PlanMemoryPass : attn::impl::PlanMemoryPassBase<PlanMemoryPass> {
  using PlanMemoryPassBase::PlanMemoryPassBase;

  /// The functions on tensors: what is made of them has the same names until they are erased.
  llvm::StringMap<func::FuncOp> sources;

  /// A function after those that it calls.
  LogicalResult plan(func::FuncOp function, ModulePlan &modulePlan, DenseSet<Operation *> &done) {
    if (!done.insert(function).second)
      return success();
    auto result = function.walk([&](Operation *op) {
      bool isPlanned = true;
      auto add = [&](StringRef callee) {
        isPlanned &= succeeded(plan(sources.lookup(callee), modulePlan, done));
      };
      if (auto call = dyn_cast<func::CallOp>(op))
        add(call.getCallee());
      if (auto rows = dyn_cast<ByRowOp>(op)) {
        add(rows.getCallee());
        if (rows.getSingle())
          add(*rows.getSingle());
      }
      return isPlanned ? WalkResult::advance() : WalkResult::interrupt();
    });
    if (result.wasInterrupted() || failed(planFunction(modulePlan, function)))
      return failure();
    if (function->hasAttr(attributes::entry))
      createWorkspaceFunction(modulePlan, function.getSymName(), function.getLoc(),
                              OpBuilder(function));
    return success();
  }

  void runOnOperation() override {
    ModulePlan modulePlan(getOperation());
    modulePlan.attention = symbolizeAttentionLowering(attention);
    auto known = symbolizePrecision(precision);
    if (!known) {
      getOperation().emitError() << "unknown precision '" << precision << "'";
      return signalPassFailure();
    }
    auto planned = TargetSet::parse(targets);
    if (!planned) {
      getOperation().emitError() << "unknown target in '" << targets << "'";
      return signalPassFailure();
    }
    modulePlan.targets = *planned;
    modulePlan.precision = modulePlan.placement().multipliesAll ? *known : storedPrecision(*known);
    // The entries that they name take pointers from here on; the artifact's tables describe them.
    for (auto unfold : llvm::make_early_inc_range(getOperation().getOps<UnfoldOp>()))
      unfold.erase();
    DenseSet<Operation *> done;
    auto functions = llvm::to_vector(getOperation().getOps<func::FuncOp>());
    sources.clear();
    for (func::FuncOp function : functions)
      sources[function.getSymName()] = function;
    for (func::FuncOp function : functions)
      if (failed(plan(function, modulePlan, done)))
        return signalPassFailure();
    for (func::FuncOp function : functions)
      function.erase();
    modulePlan.layout.place();
  }
};

} // namespace
