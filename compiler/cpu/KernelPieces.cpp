// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel's call becomes a loop over the pieces that a thread claims, or a call with the thread's
// own where the kernel has little work.
#include "compiler/cpu/KernelPieces.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "runtime/include/attn/abi.h"
#include "llvm/Support/MathExtras.h"
#include <map>

using namespace mlir;
using namespace attn;

/// The kernel beside `op` before the barrier on that side, which `next` steps towards.
static Operation *kernelBeside(Operation *op, Operation *(Operation::*next)()) {
  for (op = (op->*next)(); op && !isa<BarrierOp>(op); op = (op->*next)())
    if (isKernel(op))
      return op;
  return nullptr;
}

bool attn::isShared(Operation *kernel) {
  Operation *end = kernel->getNextNode();
  while (end && !isa<BarrierOp>(end))
    end = end->getNextNode();
  return end && !isa<GroupKernelOp>(kernel) && !kernelBeside(kernel, &Operation::getNextNode) &&
         !kernelBeside(kernel, &Operation::getPrevNode);
}

// Work is counted in operations, of which a core does about 100 in a nanosecond; a byte takes as
// long as four. Kernels of less work than `fewOperations` are divided once, since claims would take
// a part of their time that can be measured; others so that a claim is for `claimOperations` or
// more.
static constexpr int64_t operationsOfByte = 4, fewOperations = int64_t(1) << 23,
                         claimOperations = int64_t(1) << 19;

namespace {
/// What a kernel has to do, from the terms of its attn.cost.
class Work {
public:
  /// Of any amount where the cost is null or names a dim that is no argument of the caller.
  Work(CostOp cost, func::FuncOp caller) : caller(caller) {
    if (!cost)
      return;
    unsigned argument = 5; // dynamic dims follow the packed block, workspace, call and threads
    for (DimOp dim : caller->getParentOfType<ModuleOp>().getOps<DimOp>())
      if (dim.getDynamic())
        dims[dim.getSymNameAttr()] = {dim, argument++};
    isKnown = add(cost.getFlop(), 1) && add(cost.getBytes(), operationsOfByte);
  }

  /// Whether it is so little for all sizes of dims; whether it may be.
  bool isAlwaysLess(int64_t than) const {
    return isKnown && at([](DimOp dim) { return int64_t(dim.getSize()); }) < than;
  }
  bool mayBeLess(int64_t than) const {
    return isKnown && at([](DimOp) { return 1; }) < than;
  }
  /// Its value; null where it is not known.
  Value emit(IndexBuilder index) {
    if (!isKnown)
      return {};
    Value sum = index.constant(0);
    for (const Term &term : terms) {
      Value product = index.constant(term.factor);
      for (const Dim *dim : term.dims)
        product = index.mul(product, caller.getArgument(dim->argument));
      sum = index.add(sum, product);
    }
    return sum;
  }

private:
  struct Dim {
    DimOp dim;
    unsigned argument;
  };
  struct Term {
    int64_t factor;
    SmallVector<const Dim *> dims;
  };

  bool add(ArrayAttr polynomial, int64_t times) {
    for (Attribute attribute : polynomial) {
      ArrayRef<Attribute> parts = cast<ArrayAttr>(attribute).getValue();
      Term term{times * cast<IntegerAttr>(parts[0]).getInt(), {}};
      for (Attribute name : parts.drop_front()) {
        auto found = dims.find(cast<StringAttr>(name));
        if (found == dims.end())
          return false;
        term.dims.push_back(&found->second);
      }
      terms.push_back(std::move(term));
    }
    return true;
  }
  int64_t at(llvm::function_ref<int64_t(DimOp)> size) const {
    int64_t sum = 0;
    for (const Term &term : terms) {
      int64_t product = term.factor;
      for (const Dim *dim : term.dims)
        product = llvm::MulOverflow(product, size(dim->dim), product) ? INT64_MAX : product;
      sum = llvm::AddOverflow(sum, product, sum) ? INT64_MAX : sum;
    }
    return sum;
  }

  func::FuncOp caller;
  std::map<StringAttr, Dim, bool (*)(StringAttr, StringAttr)> dims{
      [](StringAttr a, StringAttr b) { return a.getValue() < b.getValue(); }};
  SmallVector<Term> terms;
  bool isKnown = false;
};
} // namespace

Pieces attn::passPieces(OutlinedKernel &outlined, bool areShared, CostOp cost) {
  func::FuncOp function = outlined.function,
               caller = outlined.call->getParentOfType<func::FuncOp>();
  unsigned at = function.getNumArguments() - 2;
  OpBuilder builder(outlined.call);
  Location loc = outlined.call.getLoc();
  Type index = builder.getIndexType();
  for (unsigned i : {at, at + 1})
    if (failed(function.insertArgument(i, index, {}, loc)))
      llvm_unreachable("a kernel's function takes any argument");

  SmallVector<Value> operands(outlined.call.getOperands());
  Value thread = operands[at], threads = operands[at + 1];
  IndexBuilder sizes(builder, loc);
  Value pieces = sizes.constant(ATTN_PIECES);
  auto call = [&](Value from, Value to) {
    SmallVector<Value> all(operands);
    all.insert(all.begin() + at, {from, to});
    outlined.call = func::CallOp::create(builder, loc, function, all);
  };
  auto callOnce = [&] {
    Value first = sizes.mul(thread, pieces);
    call(first, sizes.add(first, pieces));
  };
  func::CallOp once = outlined.call;
  Work work(cost, caller);
  auto callWithClaims = [&] {
    Value least = sizes.constant(1);
    if (Value amount = work.emit(sizes)) // not 0 here
      least = sizes.div(sizes.mul(threads, sizes.constant(ATTN_PIECES * claimOperations)),
                        sizes.max(amount, least));
    auto loop = scf::WhileOp::create(
        builder, loc, TypeRange{index, index}, ValueRange(),
        [&](OpBuilder &builder, Location loc, ValueRange) {
          auto claim =
              ClaimOp::create(builder, loc, index, index, caller.getArgument(2), thread, least);
          Value isSome = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                               claim.getFrom(), claim.getTo());
          scf::ConditionOp::create(builder, loc, isSome, claim.getResults());
        },
        [](OpBuilder &builder, Location loc, ValueRange) { scf::YieldOp::create(builder, loc); });
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getAfterBody());
    call(loop.getAfterArguments()[0], loop.getAfterArguments()[1]);
  };
  if (!areShared || work.isAlwaysLess(fewOperations)) {
    callOnce();
  } else if (!work.mayBeLess(fewOperations)) {
    callWithClaims();
  } else {
    Value isLittle = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                           work.emit(sizes), sizes.constant(fewOperations));
    choose(sizes, isLittle, callOnce, callWithClaims);
  }
  once.erase();

  builder.setInsertionPointToStart(&function.getBody().front());
  return {function.getArgument(at), function.getArgument(at + 1),
          sizes.mul(outlined.workers(), sizes.constant(ATTN_PIECES))};
}
