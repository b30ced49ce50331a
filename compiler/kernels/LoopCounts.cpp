// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the outside to the inside: what is around an op with regions says with which values it runs
// and how often, and each different tuple of values is looked at once.
#include "compiler/kernels/LoopCounts.h"

#include "compiler/kernels/Loops.h"
#include "dialect/Attributes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "runtime/include/attn/abi.h"
#include "llvm/ADT/TypeSwitch.h"
#include <numeric>

using namespace mlir;
using namespace attn;

/// Turns that are taken one by one.
static constexpr int64_t mostTurns = int64_t(1) << 19;

void Extent::add(int64_t number) {
  least = std::min(least.value_or(number), number);
  most = std::max(most.value_or(number), number);
}

/// What decides how an op with regions runs.
static SmallVector<Value> decidersOf(Operation *op) {
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()};
  if (auto choice = dyn_cast<scf::IfOp>(op))
    return {choice.getCondition()};
  if (auto choice = dyn_cast<scf::IndexSwitchOp>(op))
    return {choice.getArg()};
  return {};
}

static bool isNested(Operation *op) {
  return isa<scf::ForOp, scf::IfOp, scf::IndexSwitchOp, scf::WhileOp>(op);
}

/// What a dim of a buffer is made of.
static OpFoldResult sizeOf(memref::DimOp dim) {
  std::optional<int64_t> axis = dim.getConstantIndex();
  if (!axis)
    return {};
  if (auto view = dim.getSource().getDefiningOp<memref::ReinterpretCastOp>())
    return view.getMixedSizes()[size_t(*axis)];
  auto view = dim.getSource().getDefiningOp<memref::SubViewOp>();
  if (!view)
    return {};
  llvm::SmallBitVector dropped = view.getDroppedDims();
  int64_t kept = 0;
  for (auto [d, size] : llvm::enumerate(view.getMixedSizes()))
    if (!dropped.test(unsigned(d)) && kept++ == *axis)
      return size;
  return {};
}

void LoopCounts::markRelevant(Value value) {
  if (constantIndex(value) || !relevant.insert(value).second)
    return;
  Operation *op = value.getDefiningOp();
  if (!op)
    return;
  if (auto dim = dyn_cast<memref::DimOp>(op)) {
    if (auto size = dyn_cast_if_present<Value>(sizeOf(dim)))
      markRelevant(size);
  } else if (op->getNumRegions() == 0 && !isa<memref::LoadOp>(op)) {
    for (Value operand : op->getOperands())
      if (operand.getType().isIntOrIndex())
        markRelevant(operand);
  }
}

void LoopCounts::findRelevant(Operation *root) {
  root->walk([&](Operation *op) {
    for (Value value : decidersOf(op))
      markRelevant(value);
    for (Value value : numbers(op))
      if (value)
        markRelevant(value);
  });
}

ArrayRef<Value> LoopCounts::outside(Operation *op) {
  auto [known, isNew] = externals.try_emplace(op);
  if (!isNew)
    return known->second;
  llvm::SetVector<Value> found;
  auto add = [&](Value value) {
    bool isOutside = value && !op->isAncestor(value.getParentBlock()->getParentOp());
    if (isOutside && relevant.contains(value))
      found.insert(value);
  };
  op->walk([&](Operation *inner) {
    for (Value value : decidersOf(inner))
      add(value);
    for (Value value : numbers(inner))
      add(value);
    bool isRelevant =
        llvm::any_of(inner->getResults(), [&](Value result) { return relevant.contains(result); });
    if (!isRelevant)
      return;
    if (auto dim = dyn_cast<memref::DimOp>(inner)) {
      if (auto size = dyn_cast_if_present<Value>(sizeOf(dim)))
        add(size);
    }
    for (Value operand : inner->getOperands())
      add(operand);
  });
  return externals[op] = std::vector<Value>(found.begin(), found.end());
}

LoopCounts::Number LoopCounts::valueOf(Value value, const Environment &environment) const {
  if (std::optional<int64_t> known = constantIndex(value))
    return known;
  IntegerAttr constant;
  if (auto op = value.getDefiningOp<arith::ConstantOp>();
      op && (constant = dyn_cast<IntegerAttr>(op.getValue())))
    return constant.getInt();
  return environment.lookup(value);
}

static bool holds(arith::CmpIPredicate predicate, int64_t a, int64_t b) {
  return applyCmpPredicate(predicate, APInt(64, uint64_t(a), true), APInt(64, uint64_t(b), true));
}

LoopCounts::Number LoopCounts::compute(Operation *op, const Environment &environment) const {
  if (auto dim = dyn_cast<memref::DimOp>(op)) {
    OpFoldResult size = sizeOf(dim);
    if (!size)
      return std::nullopt;
    auto value = dyn_cast<Value>(size);
    return value ? valueOf(value, environment) : getConstantIntValue(size);
  }
  SmallVector<Number, 3> in;
  for (Value operand : op->getOperands())
    in.push_back(valueOf(operand, environment));
  if (auto select = dyn_cast<arith::SelectOp>(op))
    return in[0] ? (*in[0] ? in[1] : in[2]) : std::nullopt;
  // A conjunction is false, and a disjunction true, whatever an unknown part is.
  if (op->getResult(0).getType().isInteger(1) && isa<arith::AndIOp, arith::OrIOp>(op))
    for (const Number &number : in)
      if (number && bool(*number) == isa<arith::OrIOp>(op))
        return number;
  if (llvm::is_contained(in, std::nullopt) || in.empty())
    return std::nullopt;
  int64_t a = *in[0], b = in.size() > 1 ? *in[1] : 0;
  auto divided = [&](auto quotient) { return b ? Number(quotient()) : std::nullopt; };
  return llvm::TypeSwitch<Operation *, Number>(op)
      .Case<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtUIOp, arith::ExtSIOp,
            arith::TruncIOp>([&](auto) { return a; })
      .Case([&](arith::AddIOp) { return a + b; })
      .Case([&](arith::SubIOp) { return a - b; })
      .Case([&](arith::MulIOp) { return a * b; })
      .Case<arith::MinUIOp, arith::MinSIOp>([&](auto) { return std::min(a, b); })
      .Case<arith::MaxUIOp, arith::MaxSIOp>([&](auto) { return std::max(a, b); })
      .Case<arith::DivUIOp, arith::DivSIOp>([&](auto) { return divided([&] { return a / b; }); })
      .Case<arith::RemUIOp, arith::RemSIOp>([&](auto) { return divided([&] { return a % b; }); })
      .Case<arith::CeilDivUIOp, arith::CeilDivSIOp>(
          [&](auto) { return divided([&] { return (a + b - 1) / b; }); })
      .Case<arith::ShRUIOp, arith::ShRSIOp>([&](auto) { return a >> b; })
      .Case([&](arith::ShLIOp) { return int64_t(uint64_t(a) << b); })
      .Case([&](arith::AndIOp) { return a & b; })
      .Case([&](arith::OrIOp) { return a | b; })
      .Case([&](arith::XOrIOp) { return a ^ b; })
      .Case([&](arith::CmpIOp cmp) { return int64_t(holds(cmp.getPredicate(), a, b)); })
      .Default([](Operation *) { return std::nullopt; });
}

ArrayRef<Operation *> LoopCounts::relevantOf(Block &block) {
  auto [known, isNew] = relevantOps.try_emplace(&block);
  if (isNew)
    for (Operation &op : block)
      if (isNested(&op) || !numbers(&op).empty() ||
          (op.getNumResults() == 1 && relevant.contains(op.getResult(0))))
        known->second.push_back(&op);
  return known->second;
}

void LoopCounts::run(Block &block, Environment &environment, double weight) {
  RunCount &count = counts[&block];
  count.runs += weight;
  for (Operation *op : relevantOf(block)) {
    if (isNested(op)) {
      Key key;
      for (Value value : outside(op))
        key.push_back(valueOf(value, environment));
      pending[op][key] += weight;
      continue;
    }
    ArrayRef<Value> own = numbers(op);
    if (own.empty()) {
      environment[op->getResult(0)] = compute(op, environment);
      continue;
    }
    SmallVector<Number> values;
    for (Value value : own)
      values.push_back(value ? valueOf(value, environment) : std::nullopt);
    visit(op, values, weight);
  }
}

void LoopCounts::markUnknown(Operation *op) {
  for (Region &region : op->getRegions())
    for (Block &block : region) {
      counts[&block].isKnown = false;
      for (Operation &inner : block)
        if (isNested(&inner))
          markUnknown(&inner);
    }
}

int64_t LoopCounts::periodOf(scf::ForOp loop) const {
  int64_t period = 1;
  for (Operation *user : loop.getInductionVar().getUsers()) {
    bool isRelevant =
        isNested(user) || !numbers(user).empty() ||
        llvm::any_of(user->getResults(), [&](Value result) { return relevant.contains(result); });
    if (!isRelevant)
      continue;
    auto remainder = dyn_cast<arith::RemUIOp>(user);
    std::optional<int64_t> divisor = remainder && remainder.getLhs() == loop.getInductionVar()
                                         ? constantIndex(remainder.getRhs())
                                         : std::nullopt;
    if (!divisor || *divisor <= 0)
      return 0;
    period = std::lcm(period, *divisor);
  }
  return period;
}

void LoopCounts::processLoop(Operation *op, const Environment &outer, double weight) {
  auto loop = cast<scf::ForOp>(op);
  Number from = valueOf(loop.getLowerBound(), outer), to = valueOf(loop.getUpperBound(), outer),
         step = valueOf(loop.getStep(), outer);
  if (!from || !to || !step || *step <= 0)
    return markUnknown(op);
  RunCount &count = counts[loop.getBody()];
  int64_t trips = *to > *from ? (*to - *from + *step - 1) / *step : 0;
  count.trips.add(trips), count.from.add(*from), count.to.add(*to);
  Environment environment = outer;
  if (!relevant.contains(loop.getInductionVar())) {
    if (trips)
      run(*loop.getBody(), environment, weight * double(trips));
    return;
  }
  int64_t period = *step == 1 ? periodOf(loop) : 0;
  int64_t different = period ? std::min(period, trips) : trips;
  budget -= different;
  if (budget < 0)
    return markUnknown(op);
  for (int64_t i = 0; i < different; ++i) {
    environment[loop.getInductionVar()] = *from + i * *step;
    int64_t alike = period ? (trips - i + period - 1) / period : 1;
    run(*loop.getBody(), environment, weight * double(alike));
  }
}

void LoopCounts::processChoice(Operation *op, const Environment &outer, double weight) {
  Number number = valueOf(decidersOf(op).front(), outer);
  Environment environment = outer;
  auto enter = [&](Region &region) {
    if (!region.empty())
      run(region.front(), environment, weight);
  };
  if (!number) {
    undecided.insert(op);
    for (Region &region : op->getRegions())
      enter(region);
    return;
  }
  if (auto choice = dyn_cast<scf::IfOp>(op))
    return enter(*number ? choice.getThenRegion() : choice.getElseRegion());
  auto choice = cast<scf::IndexSwitchOp>(op);
  for (auto [region, value] : llvm::zip(choice.getCaseRegions(), choice.getCases()))
    if (value == *number)
      return enter(region);
  enter(choice.getDefaultRegion());
}

void LoopCounts::process(Operation *op) {
  ArrayRef<Value> names = outside(op);
  std::map<Key, double> all = std::move(pending[op]);
  for (auto &[key, weight] : all) {
    Environment environment;
    for (auto [name, value] : llvm::zip(names, key))
      environment[name] = value;
    if (isa<scf::ForOp>(op))
      processLoop(op, environment, weight);
    else if (isa<scf::IfOp, scf::IndexSwitchOp>(op))
      processChoice(op, environment, weight);
    else
      markUnknown(op);
  }
  bool isAsIf = !isDecided(op) || counts[op->getBlock()].isAsIf;
  for (Region &region : op->getRegions())
    for (Block &block : region) {
      counts[&block].isAsIf = isAsIf;
      for (Operation &inner : block)
        if (isNested(&inner))
          process(&inner);
    }
}

LoopCounts::LoopCounts(func::FuncOp function, Numbers numbers, Visitor visit)
    : numbers(numbers), visit(visit), budget(mostTurns) {
  findRelevant(function);
  Environment environment;
  unsigned count = function.getNumArguments();
  for (unsigned i = 0; i < count; ++i)
    if (auto size = function.getArgAttrOfType<IntegerAttr>(i, attributes::size))
      environment[function.getArgument(i)] = size.getInt();
  // All pieces, on the only thread (KernelPieces.h).
  const int64_t last[] = {0, ATTN_PIECES, 0, 1};
  for (auto [argument, value] : llvm::zip(function.getArguments().take_back(4), last))
    environment[argument] = value;
  Block &body = function.getBody().front();
  run(body, environment, 1);
  for (Operation &op : body)
    if (isNested(&op))
      process(&op);
}
