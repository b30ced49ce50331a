// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A function that gets one tensor several times, wherever it is called, takes it once:
//   %k = relabel %x; call @attention(%x, %k)   ->   call @attention(%x), and the relabel inside
// Projections of a block that is applied to `(x, x, x)` read one tensor then. Where there is one
// call, what the function does becomes part of its caller.
#include "compiler/transforms/InlineCall.h"
#include "compiler/transforms/Passes.h"
#include "dialect/AttnDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

namespace attn {
#define GEN_PASS_DEF_MERGEARGUMENTSPASS
#include "compiler/transforms/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

/// The first argument that is the same tensor as `later` in every call; nothing where there is
/// none.
static std::optional<unsigned> sameArgument(ArrayRef<func::CallOp> calls, unsigned later) {
  for (unsigned earlier = 0; earlier < later; ++earlier)
    if (llvm::all_of(calls, [&](func::CallOp call) {
          return withoutRelabels(call.getOperand(earlier)) ==
                 withoutRelabels(call.getOperand(later));
        }))
      return earlier;
  return std::nullopt;
}

/// Whether an argument was taken away.
static bool mergeOne(func::FuncOp function, ArrayRef<func::CallOp> calls) {
  for (unsigned later = 1; later < function.getNumArguments(); ++later) {
    BlockArgument argument = function.getArgument(later);
    std::optional<unsigned> earlier =
        isa<RankedTensorType>(argument.getType()) ? sameArgument(calls, later) : std::nullopt;
    if (!earlier)
      continue;
    OpBuilder builder = OpBuilder::atBlockBegin(&function.front());
    argument.replaceAllUsesWith(RelabelOp::create(builder, argument.getLoc(), argument.getType(),
                                                  function.getArgument(*earlier)));
    (void)function.eraseArgument(later);
    for (func::CallOp call : calls)
      call->eraseOperand(later);
    return true;
  }
  return false;
}

namespace {
struct MergeArgumentsPass : attn::impl::MergeArgumentsPassBase<MergeArgumentsPass> {
  void runOnOperation() override {
    llvm::SetVector<func::FuncOp> merged;
    // What a function takes once is one tensor for those that it calls.
    bool changed = true;
    while (changed) {
      changed = false;
      for (auto function : getOperation().getOps<func::FuncOp>()) {
        SmallVector<func::CallOp> calls = callsOf(function);
        while (!calls.empty() && mergeOne(function, calls)) {
          merged.insert(function);
          changed = true;
        }
      }
    }
    // Results that are parts of one product would be copied on their way out of a function; and a
    // norm in front of the call is one of the product.
    for (func::FuncOp function : merged)
      if (SmallVector<func::CallOp> calls = callsOf(function);
          calls.size() == 1 && isa<func::FuncOp>(calls.front()->getParentOp())) {
        inlineCall(calls.front(), function);
        function.erase();
      }
  }

  /// All calls of a function that nothing else uses; none where something does.
  SmallVector<func::CallOp> callsOf(func::FuncOp function) {
    SmallVector<func::CallOp> calls;
    if (!function.isPrivate() || function.isExternal())
      return calls;
    auto uses = SymbolTable::getSymbolUses(function, getOperation());
    for (SymbolTable::SymbolUse use : *uses) {
      auto call = dyn_cast<func::CallOp>(use.getUser());
      if (!call)
        return {};
      calls.push_back(call);
    }
    return calls;
  }
};
} // namespace
