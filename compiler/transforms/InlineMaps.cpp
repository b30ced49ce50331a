// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A function of maps alone becomes part of its callers, where what stands in front of the call
// takes them into its epilogue:
//   y = linear x, W; z = call @Norm(y)   ->   y = linear x, W; z = map(y, scale, shift)
#include "compiler/transforms/InlineCall.h"
#include "compiler/transforms/Passes.h"
#include "dialect/AttnDialect.h"
#include "mlir/IR/IRMapping.h"

namespace attn {
#define GEN_PASS_DEF_INLINEMAPSPASS
#include "compiler/transforms/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

void attn::inlineCall(func::CallOp call, func::FuncOp function) {
  OpBuilder builder(call);
  IRMapping mapping;
  Block &body = function.front();
  mapping.map(body.getArguments(), call.getOperands());
  for (Operation &op : body.without_terminator())
    builder.clone(op, mapping);
  for (auto [result, value] :
       llvm::zip_equal(call.getResults(), body.getTerminator()->getOperands()))
    result.replaceAllUsesWith(mapping.lookupOrDefault(value));
  call.erase();
}

/// Whether a function computes maps of what it is given, of parameters and constants, and few.
static bool isOfMaps(func::FuncOp function) {
  constexpr size_t mostOps = 32;
  if (!function.isPrivate() || function.isExternal())
    return false;
  auto ops = function.front().without_terminator();
  return llvm::range_size(ops) <= mostOps && llvm::any_of(ops, llvm::IsaPred<MapOp>) &&
         llvm::all_of(ops, [](Operation &op) {
           return isa<MapOp, GetOp, RelabelOp, TableOp>(op) || op.hasTrait<OpTrait::ConstantLike>();
         });
}

namespace {
struct InlineMapsPass : attn::impl::InlineMapsPassBase<InlineMapsPass> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    bool changed = true;
    while (changed) {
      changed = false;
      SmallVector<func::CallOp> calls;
      getOperation().walk([&](func::CallOp call) { calls.push_back(call); });
      for (func::CallOp call : calls)
        if (auto function = symbols.lookup<func::FuncOp>(call.getCallee()); isOfMaps(function)) {
          inlineCall(call, function);
          changed = true;
        }
    }
    for (auto function : llvm::make_early_inc_range(getOperation().getOps<func::FuncOp>()))
      if (isOfMaps(function) && SymbolTable::symbolKnownUseEmpty(function, getOperation()))
        symbols.erase(function);
  }
};
} // namespace
