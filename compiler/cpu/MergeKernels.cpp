// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Kernels that compute the same, as those of a stack's last layer and of a single token do, become
// one: LLVM takes most of the time of compiling, and it takes it for each function.
#include "compiler/cpu/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/MapVector.h"

namespace attn {
#define GEN_PASS_DEF_MERGEKERNELSPASS
#include "compiler/cpu/Passes.h.inc"
} // namespace attn

using namespace mlir;

/// What equal functions share, so that only few are compared.
static llvm::hash_code hashOf(func::FuncOp function) {
  llvm::hash_code hash = hash_value(function.getFunctionType());
  function.walk([&](Operation *op) { hash = llvm::hash_combine(hash, op->getName()); });
  return hash;
}

/// Whether functions differ in nothing but their names and locations.
static bool areEqual(func::FuncOp a, func::FuncOp b) {
  return a.getFunctionType() == b.getFunctionType() &&
         OperationEquivalence::isRegionEquivalentTo(&a.getBody(), &b.getBody(),
                                                    OperationEquivalence::IgnoreLocations);
}

namespace {
struct MergeKernelsPass : attn::impl::MergeKernelsPassBase<MergeKernelsPass> {
  void runOnOperation() override {
    SymbolTable symbols(getOperation());
    // Of each function that is called, in the order of the first calls.
    llvm::MapVector<func::FuncOp, SmallVector<func::CallOp>> calls;
    DenseSet<func::FuncOp> callers;
    getOperation().walk([&](func::CallOp call) {
      callers.insert(call->getParentOfType<func::FuncOp>());
      if (auto callee = symbols.lookup<func::FuncOp>(call.getCallee());
          callee && callee.isPrivate() && !callee.isExternal())
        calls[callee].push_back(call);
    });
    using Equal = SmallVector<func::FuncOp>;
    DenseMap<size_t, SmallVector<Equal>> known;
    for (auto &called : calls) {
      func::FuncOp function = called.first;
      if (callers.contains(function))
        continue;
      SmallVector<Equal> &alike = known[size_t(hashOf(function))];
      auto equal = llvm::find_if(
          alike, [&](const Equal &others) { return areEqual(others.front(), function); });
      if (equal == alike.end())
        equal = alike.insert(equal, Equal());
      equal->push_back(function);
    }
    for (auto &[hash, alike] : known)
      for (Equal &equal : alike) {
        // The shortest name is that of no special layer.
        func::FuncOp kept = *llvm::min_element(equal, [](func::FuncOp a, func::FuncOp b) {
          return a.getSymName().size() < b.getSymName().size();
        });
        for (func::FuncOp function : equal) {
          for (func::CallOp call : calls[function])
            call.setCallee(kept.getSymName());
          if (function != kept)
            symbols.erase(function);
        }
      }
  }
};
} // namespace
