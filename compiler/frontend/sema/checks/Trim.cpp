// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Finds what is needed, beginning with what entries return and what caches are filled with, and
// erases the rest. A value is looked at once for all calls of its function.
#include "compiler/frontend/sema/checks/Trim.h"
#include "dialect/AttnDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/SetVector.h"

namespace attn::frontend {

using namespace mlir;
using func::CallOp;
using func::FuncOp;

namespace {

class Trimmer {
public:
  Trimmer(ModuleOp module, llvm::ArrayRef<FuncOp> entries);
  void run();

private:
  FuncOp calleeOf(CallOp call) { return module.lookupSymbol<FuncOp>(call.getCallee()); }
  void add(FuncOp function);
  bool pushes(Operation *op);

  void mark(Value value);
  void needAll(Operation *op);
  void needLoops(Operation *op);
  void follow(OpResult result);
  void follow(BlockArgument argument);
  void findLive();

  bool isLiveSlot(scf::ForOp loop, unsigned i) {
    return live.contains(loop.getRegionIterArg(i)) || live.contains(loop.getResult(i));
  }
  bool isKept(Operation *op);
  void dropOps(FuncOp function);
  void shrink(scf::ForOp loop);
  void shrink(CallOp call, const llvm::BitVector &arguments, const llvm::BitVector &results);
  void shrink(FuncOp function);

  ModuleOp module;
  llvm::SetVector<Operation *> functions; ///< Entries, and callers before what they call.
  llvm::DenseMap<Operation *, llvm::SmallVector<CallOp>> calls; ///< Of each function.
  llvm::DenseMap<Operation *, bool> pushing;                    ///< Of functions.
  llvm::DenseSet<Value> live;
  llvm::SmallVector<Value> worklist;
};

} // namespace

Trimmer::Trimmer(ModuleOp module, llvm::ArrayRef<FuncOp> entries) : module(module) {
  for (FuncOp entry : entries)
    add(entry);
  for (Operation *function : functions)
    function->walk([&](CallOp call) { calls[calleeOf(call)].push_back(call); });
}

void Trimmer::add(FuncOp function) {
  if (function && functions.insert(function))
    function.walk([&](CallOp call) { add(calleeOf(call)); });
}

/// Whether an op fills a cache, in its regions or in what it calls.
bool Trimmer::pushes(Operation *op) {
  bool found = false;
  op->walk([&](Operation *inner) {
    found |= llvm::isa<PushOp>(inner);
    auto call = llvm::dyn_cast<CallOp>(inner);
    if (found || !call)
      return;
    FuncOp callee = calleeOf(call);
    auto [known, isFirst] = pushing.insert({callee, false});
    found |= isFirst ? (pushing[callee] = pushes(callee)) : known->second;
  });
  return found;
}

void Trimmer::mark(Value value) {
  if (value && live.insert(value).second)
    worklist.push_back(value);
}

/// What an op takes, in its regions, too.
void Trimmer::needAll(Operation *op) {
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      mark(operand);
  });
  needLoops(op);
}

/// How often an op is run.
void Trimmer::needLoops(Operation *op) {
  for (auto loop = op->getParentOfType<scf::ForOp>(); loop;
       loop = loop->getParentOfType<scf::ForOp>())
    for (Value bound : {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()})
      mark(bound);
}

void Trimmer::follow(OpResult result) {
  Operation *op = result.getOwner();
  unsigned i = result.getResultNumber();
  needLoops(op);
  if (auto call = llvm::dyn_cast<CallOp>(op)) {
    mark(calleeOf(call).front().getTerminator()->getOperand(i));
  } else if (auto loop = llvm::dyn_cast<scf::ForOp>(op)) {
    mark(loop.getRegionIterArg(i));
    mark(loop.getBody()->getTerminator()->getOperand(i));
    needLoops(loop.getBody()->getTerminator());
  } else {
    needAll(op);
  }
}

void Trimmer::follow(BlockArgument argument) {
  Operation *op = argument.getOwner()->getParentOp();
  if (auto loop = llvm::dyn_cast<scf::ForOp>(op)) {
    if (argument == loop.getInductionVar())
      return needLoops(loop.getBody()->getTerminator());
    unsigned i = argument.getArgNumber() - 1;
    mark(loop.getInitArgs()[i]);
    mark(loop.getBody()->getTerminator()->getOperand(i));
  } else if (llvm::isa<FuncOp>(op)) {
    for (CallOp call : calls[op]) {
      mark(call.getOperand(argument.getArgNumber()));
      needLoops(call);
    }
  }
}

void Trimmer::findLive() {
  for (Operation *op : functions) {
    auto function = llvm::cast<FuncOp>(op);
    if (!function.isPrivate())
      needAll(function.front().getTerminator());
    function.walk([&](PushOp push) { needAll(push); });
    function.walk([&](CallOp call) {
      if (pushes(call))
        needLoops(call);
    });
  }
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    if (auto result = llvm::dyn_cast<OpResult>(value))
      follow(result);
    else
      follow(llvm::cast<BlockArgument>(value));
  }
}

bool Trimmer::isKept(Operation *op) {
  auto isLive = [&](Value result) { return live.contains(result); };
  return op->hasTrait<OpTrait::IsTerminator>() || llvm::any_of(op->getResults(), isLive) ||
         pushes(op);
}

/// Erases ops that nothing needs; what is left of their uses goes with what is shrunk.
void Trimmer::dropOps(FuncOp function) {
  llvm::SmallVector<Operation *> dropped;
  function.walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (op == function || isKept(op))
      return llvm::isa<FuncOp, scf::ForOp>(op) ? WalkResult::advance() : WalkResult::skip();
    dropped.push_back(op);
    return WalkResult::skip();
  });
  for (Operation *op : llvm::reverse(dropped)) {
    op->walk([&](CallOp call) { llvm::erase(calls[calleeOf(call)], call); });
    op->dropAllUses();
    op->erase();
  }
}

/// A loop that carries what is needed alone.
void Trimmer::shrink(scf::ForOp loop) {
  llvm::SmallVector<unsigned> slots;
  for (unsigned i = 0; i < loop.getNumResults(); ++i)
    if (isLiveSlot(loop, i))
      slots.push_back(i);
  if (slots.size() == loop.getNumResults())
    return;
  OpBuilder builder(loop);
  llvm::SmallVector<Value> carried, yielded;
  Operation *end = loop.getBody()->getTerminator();
  for (unsigned i : slots) {
    carried.push_back(loop.getInitArgs()[i]);
    yielded.push_back(end->getOperand(i));
  }
  auto fewer = scf::ForOp::create(builder, loop.getLoc(), loop.getLowerBound(),
                                  loop.getUpperBound(), loop.getStep(), carried);
  Block *body = fewer.getBody();
  if (!body->empty()) // an end, where nothing is carried
    body->back().erase();
  loop.getInductionVar().replaceAllUsesWith(fewer.getInductionVar());
  for (auto [place, i] : llvm::enumerate(slots)) {
    loop.getRegionIterArg(i).replaceAllUsesWith(fewer.getRegionIterArg(place));
    loop.getResult(i).replaceAllUsesWith(fewer.getResult(place));
  }
  for (Value argument : loop.getRegionIterArgs())
    argument.dropAllUses();
  end->erase();
  body->getOperations().splice(body->end(), loop.getBody()->getOperations());
  builder.setInsertionPointToEnd(body);
  scf::YieldOp::create(builder, loop.getLoc(), yielded);
  loop->dropAllUses();
  loop.erase();
}

/// A call without some arguments and results.
void Trimmer::shrink(CallOp call, const llvm::BitVector &arguments,
                     const llvm::BitVector &results) {
  call->eraseOperands(arguments);
  if (results.none())
    return;
  OpBuilder builder(call);
  llvm::SmallVector<mlir::Type> types;
  for (OpResult result : call->getResults())
    if (!results.test(result.getResultNumber()))
      types.push_back(result.getType());
  auto fewer = CallOp::create(builder, call.getLoc(), call.getCallee(), types, call.getOperands());
  unsigned next = 0;
  for (OpResult result : call->getResults())
    if (!results.test(result.getResultNumber()))
      result.replaceAllUsesWith(fewer.getResult(next++));
  call->dropAllUses();
  call.erase();
}

/// The function of a block without arguments and results that nothing needs, and its calls.
void Trimmer::shrink(FuncOp function) {
  llvm::BitVector arguments(function.getNumArguments()), results(function.getNumResults());
  for (BlockArgument argument : function.getArguments())
    if (!live.contains(argument) && !argument.getType().isIndex())
      arguments.set(argument.getArgNumber());
  for (unsigned i = 0; i < results.size(); ++i)
    if (llvm::none_of(calls[function],
                      [&](CallOp call) { return live.contains(call.getResult(i)); }))
      results.set(i);
  for (unsigned argument : arguments.set_bits())
    function.getArgument(argument).dropAllUses();
  function.front().getTerminator()->eraseOperands(results);
  (void)function.eraseArguments(arguments);
  (void)function.eraseResults(results);
  for (CallOp call : calls[function])
    shrink(call, arguments, results);
}

void Trimmer::run() {
  findLive();
  for (Operation *function : functions)
    dropOps(llvm::cast<FuncOp>(function));
  for (Operation *function : functions) {
    llvm::SmallVector<scf::ForOp> loops;
    function->walk([&](scf::ForOp loop) { loops.push_back(loop); });
    for (scf::ForOp loop : loops)
      shrink(loop);
  }
  for (Operation *function : functions)
    if (llvm::cast<FuncOp>(function).isPrivate())
      shrink(llvm::cast<FuncOp>(function));
  for (Operation *function : functions)
    if (llvm::cast<FuncOp>(function).isPrivate() && calls[function].empty())
      function->erase();
}

void trim(ModuleOp module, llvm::ArrayRef<FuncOp> entries) { Trimmer(module, entries).run(); }

} // namespace attn::frontend
