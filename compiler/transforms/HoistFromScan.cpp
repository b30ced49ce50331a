// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What does not depend on a scan's states is computed before it. Of a cell
//   next = tanh(ih(x_t) + hh(h))
// the product `ih` becomes one of all steps, [T, B, I] -> [T, B, U], whose rows at the step the
// body takes instead of x_t. The axis of the steps stands in front there, so that what a step reads
// lies in one piece.
#include "compiler/transforms/InlineCall.h"
#include "compiler/transforms/LiftOverSteps.h"
#include "compiler/transforms/Passes.h"
#include "dialect/AttnDialect.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace attn {
#define GEN_PASS_DEF_HOISTFROMSCANPASS
#include "compiler/transforms/Passes.h.inc"
} // namespace attn

using namespace mlir;
using namespace attn;

namespace {

/// What a value of a body depends on.
enum class Depends { OnNothing, OnStep, OnStates };

/// Moves ops of one scan's body in front of it.
class Hoister {
public:
  explicit Hoister(ScanOp scan) : scan(scan), body(scan.getBody().front()), builder(scan) {}

  void run();

private:
  Depends dependsOf(Value value);
  Depends dependsOf(Operation &op);
  Value alongSteps(Value step);
  void rebuild();

  ScanOp scan;
  Block &body;
  OpBuilder builder; ///< In front of the scan.
  DenseMap<Value, Depends> depends;
  IRMapping lifted; ///< Of values of a step, those of all steps, with their axis in front.
  SmallVector<Operation *> hoisted;
};

} // namespace

Depends Hoister::dependsOf(Value value) {
  if (value.getParentBlock() != &body)
    return Depends::OnNothing;
  if (auto known = depends.find(value); known != depends.end())
    return known->second;
  auto argument = cast<BlockArgument>(value);
  return argument.getArgNumber() < scan.getInputs().size() ? Depends::OnStep : Depends::OnStates;
}

Depends Hoister::dependsOf(Operation &op) {
  if (!isMemoryEffectFree(&op))
    return Depends::OnStates;
  Depends most = Depends::OnNothing;
  op.walk([&](Operation *inner) {
    for (Value operand : inner->getOperands()) {
      // What the op's own regions compute depends on what they read.
      bool isOwn = op.getNumRegions() > 0 && llvm::any_of(op.getRegions(), [&](Region &region) {
                     return region.isAncestor(operand.getParentRegion());
                   });
      if (!isOwn)
        most = std::max(most, dependsOf(operand));
    }
  });
  return most;
}

/// A value of a step, of all steps.
Value Hoister::alongSteps(Value step) {
  if (dependsOf(step) == Depends::OnNothing)
    return step;
  if (Value known = lifted.lookupOrNull(step))
    return known;
  Value whole = scan.getInputs()[cast<BlockArgument>(step).getArgNumber()];
  Value front = withAxisInFront(builder, scan.getLoc(), whole, scan.getAxis());
  lifted.map(step, front);
  return front;
}

/// A scan that takes what has been computed of all steps, and gives what is read.
void Hoister::rebuild() {
  SmallVector<Value> inputs;
  SmallVector<Value> steps; // values of the body, of which the inputs are those of all steps
  auto isRead = [&](Value value) {
    return llvm::any_of(value.getUsers(),
                        [&](Operation *user) { return !llvm::is_contained(hoisted, user); });
  };
  for (auto [input, argument] : llvm::zip_equal(scan.getInputs(), scan.stepArguments()))
    if (isRead(argument))
      inputs.push_back(input), steps.push_back(argument);
  for (Operation *op : hoisted)
    for (Value result : op->getResults())
      if (Value whole = lifted.lookupOrNull(result); whole && isRead(result))
        inputs.push_back(whole), steps.push_back(result);
  if (inputs.empty())
    inputs.push_back(scan.getInputs().front()), steps.push_back(body.getArgument(0));
  NextOp next = scan.next();
  SmallVector<Type> types;
  SmallVector<Value> kept, values;
  for (auto [output, value] : llvm::zip_equal(scan.outputs(), next.outputs()))
    if (!output.use_empty())
      types.push_back(output.getType()), values.push_back(value), kept.push_back(output);
  llvm::append_range(types, scan.states().getTypes());
  llvm::append_range(values, next.states());
  llvm::append_range(kept, scan.states());
  next.getValuesMutable().assign(values);
  size_t before = scan.getInputs().size();
  for (auto [i, step] : llvm::enumerate(steps))
    step.replaceAllUsesWith(body.insertArgument(before + i, step.getType(), step.getLoc()));
  for (Operation *op : llvm::reverse(hoisted))
    op->erase();
  body.eraseArguments(0, before);
  auto rebuilt = ScanOp::create(builder, scan.getLoc(), types, inputs, scan.getInitial(),
                                scan.getAxis(), scan.getReverse());
  rebuilt.getBody().takeBody(scan.getBody());
  for (auto [value, result] : llvm::zip_equal(kept, rebuilt.getValues()))
    value.replaceAllUsesWith(result);
  scan.erase();
}

void Hoister::run() {
  for (Operation &op : llvm::make_early_inc_range(body.without_terminator())) {
    Depends most = dependsOf(op);
    if (most == Depends::OnNothing) {
      op.moveBefore(scan);
      continue;
    }
    Value whole = most == Depends::OnStep
                      ? liftOverSteps(builder, &op, scan, [&](Value v) { return alongSteps(v); })
                      : Value();
    for (Value result : op.getResults())
      depends[result] = whole ? Depends::OnStep : Depends::OnStates;
    if (whole) {
      lifted.map(op.getResult(0), whole);
      hoisted.push_back(&op);
    }
  }
  rebuild();
}

namespace {

struct HoistFromScanPass : attn::impl::HoistFromScanPassBase<HoistFromScanPass> {
  void runOnOperation() override {
    inlineCells();
    // A scan in the body of another comes first: what leaves it may leave the other, too.
    SmallVector<ScanOp> scans;
    getOperation().walk([&](ScanOp scan) { scans.push_back(scan); });
    for (ScanOp scan : scans)
      Hoister(scan).run();
  }

  /// Functions that bodies of scans call become part of them, unless they are many: blocks that
  /// apply others several times would grow beyond all bounds.
  void inlineCells() {
    constexpr size_t mostOps = 20000;
    SymbolTable symbols(getOperation());
    SetVector<func::FuncOp> inlined;
    size_t ops = 0;
    auto callOf = [&] {
      func::CallOp found;
      getOperation().walk([&](func::CallOp call) {
        if (!isa<ScanOp>(call->getParentOp()))
          return WalkResult::advance();
        found = call;
        return WalkResult::interrupt();
      });
      return found;
    };
    for (func::CallOp call = callOf(); call && ops < mostOps; call = callOf()) {
      auto function = symbols.lookup<func::FuncOp>(call.getCallee());
      function.walk([&](Operation *) { ++ops; });
      inlined.insert(function);
      inlineCall(call, function);
    }
    // A function may have been called by another one of them alone.
    for (bool changed = true; changed;) {
      changed = false;
      for (func::FuncOp function : SmallVector<func::FuncOp>(inlined.getArrayRef()))
        if (function.isPrivate() && SymbolTable::symbolKnownUseEmpty(function, getOperation())) {
          inlined.remove(function);
          symbols.erase(function);
          changed = true;
        }
    }
  }
};

} // namespace
