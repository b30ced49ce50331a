// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel's call becomes a loop over the pieces that a thread claims, or a call with the thread's
// own where the kernel has little work.
#include "compiler/cpu/KernelPieces.h"
#include "compiler/transforms/SizePolynomial.h"
#include "dialect/Choices.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "runtime/include/attn/abi.h"
#include "llvm/ADT/StringMap.h"

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
/// What a kernel has to do, by its attn.cost.
class Work {
public:
  /// Of any amount where the cost is null or names a dim that is no argument of the caller.
  Work(CostOp cost, func::FuncOp caller) {
    if (!cost)
      return;
    for (auto [dim, argument] : llvm::zip(dynamicDims(caller->getParentOfType<ModuleOp>()),
                                          caller.getArguments().drop_front(firstDimArgument)))
      dims[dim.getSymName()] = {int64_t(dim.getSize()), argument};
    operations = SizePolynomial::of(cost.getFlop()) +
                 SizePolynomial(operationsOfByte) * SizePolynomial::of(cost.getBytes());
    isKnown = true;
    most = operations.at([&](StringRef name) {
      auto found = dims.find(name);
      isKnown &= found != dims.end();
      return isKnown ? found->second.bound : 1;
    });
  }

  /// Whether it is so little for all sizes of dims; whether it may be.
  bool isAlwaysLess(int64_t than) const { return isKnown && most < than; }
  bool mayBeLess(int64_t than) const {
    return isKnown && operations.at([](StringRef) { return 1; }) < than;
  }
  /// Its value; null where it is not known.
  Value emit(OpBuilder &builder, Location loc) const {
    auto size = [&](StringRef name) { return dims.find(name)->second.size; };
    return isKnown ? operations.emit(builder, loc, size) : Value();
  }

private:
  struct Dim {
    int64_t bound;
    Value size;
  };
  llvm::StringMap<Dim> dims;
  SizePolynomial operations;
  int64_t most = 0;
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
    if (Value amount = work.emit(builder, loc))
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
                                           work.emit(builder, loc), sizes.constant(fewOperations));
    choose(sizes, isLittle, callOnce, callWithClaims);
  }
  once.erase();

  builder.setInsertionPointToStart(&function.getBody().front());
  return {function.getArgument(at), function.getArgument(at + 1),
          sizes.mul(outlined.workers(), sizes.constant(ATTN_PIECES))};
}
