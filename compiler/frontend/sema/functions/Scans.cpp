// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `scan cell over x along T from h0` -> attn.scan, whose body calls the function of the cell with
// the inputs of a step, what stays the same, and the states:
//
//   %hs, %h = attn.scan over(%x) from(%h0) along "T" { ^bb0(%xt, %h): call @Cell(%xt, %h) … }
//
// `lengths` are a further input: in a step past a row's length, its states stay what they were.
#include "compiler/frontend/sema/functions/Scans.h"
#include "compiler/frontend/sema/Names.h"
#include "compiler/frontend/sema/blocks/BlockParts.h"
#include "compiler/frontend/sema/blocks/Blocks.h"
#include "compiler/frontend/sema/blocks/Instances.h"
#include "compiler/frontend/sema/expressions/Exprs.h"
#include "compiler/frontend/sema/functions/Lookups.h"
#include "compiler/frontend/sema/functions/Rearrange.h"
#include "compiler/frontend/sema/functions/ScanOperands.h"
#include "compiler/frontend/sema/sizes/Axes.h"
#include "compiler/frontend/sema/sizes/Tensors.h"
#include "compiler/frontend/sema/sizes/Types.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/Support/SaveAndRestore.h"

namespace attn::frontend {

using namespace ast;
using mlir::Location;

bool checkCell(Reporter &report, const Signature &signature) {
  std::set<int> states;
  for (size_t i = 0; i < signature.results.size(); ++i) {
    const Type &type = signature.results[i];
    int state = signature.stateOf(i);
    if (state < 0 && type.word && !type.hasShape && !type.isCache()) {
      report
          .error(DiagCode::CellStates, type.range,
                 "`" + signature.name.text + "` has no parameter `" + type.word->text + "`")
          .note("a result of a cell is the name of a state, which is a parameter, or the type of "
                "what each step gives beside the states");
      return false;
    }
    if (state >= 0 && !states.insert(state).second) {
      report.error(DiagCode::CellStates, type.range,
                   "the state `" + type.word->text + "` is given twice");
      return false;
    }
  }
  size_t first = signature.parameters.size() - states.size();
  if (!states.empty() && *states.begin() == static_cast<int>(first) && first > 0)
    return true;
  std::string cell = "`" + signature.name.text + "`";
  auto set = llvm::find_if(states, [&](int state) { return state < static_cast<int>(first); });
  Diagnostic &diagnostic =
      states.empty() ? report.error(DiagCode::CellStates, signature.range,
                                    "no result of the cell " + cell + " names a state")
      : first == 0
          ? report.error(DiagCode::CellStates, signature.range,
                         "the cell " + cell + " takes states alone, and no input")
          : report.error(DiagCode::CellStates, signature.parameters.back().name.range,
                         "the state `" + signature.parameters.back().name.text + "` is never set");
  if (!states.empty() && first > 0 && set != states.end())
    diagnostic.at(signature.results.front().range.to(signature.results.back().range),
                  "these are the new states");
  diagnostic.note("the last parameters of a cell are its states, and its results name them: "
                  "`cell GRU(x: [I], h: [U]) -> h`");
  return false;
}

/// `ifLive` where `live` is not 0, else `otherwise`, or 0 where that is null.
static mlir::Value whereLive(Sema &sema, mlir::Value live, mlir::Value ifLive,
                             mlir::Value otherwise, Location loc) {
  llvm::SmallVector<mlir::Value> inputs{live, ifLive};
  if (otherwise)
    inputs.push_back(otherwise);
  return makeMap(
      sema, inputs, axesOfValue(ifLive), loc,
      [](mlir::OpBuilder &b, Location l, mlir::ValueRange x) -> mlir::Value {
        mlir::Value zero = mlir::arith::ConstantOp::create(b, l, b.getF32FloatAttr(0));
        mlir::Value isLive =
            mlir::arith::CmpFOp::create(b, l, mlir::arith::CmpFPredicate::UNE, x[0], zero);
        return mlir::arith::SelectOp::create(b, l, isLive, x[1], x.size() > 2 ? x[2] : zero);
      });
}

/// 1 where a step is within a row's length, else 0: [T, axes of the lengths].
static mlir::Value liveSteps(Sema &sema, const Scan &scan, Location loc) {
  mlir::Value steps = positionsAlong(sema, scan.along, scan.expr.along.range);
  if (!steps)
    return nullptr;
  Axes axes = axesOfValue(scan.lengths);
  axes.insert(axes.begin(), scan.along);
  return makeMap(sema, {steps, scan.lengths}, axes, loc,
                 [](mlir::OpBuilder &b, Location l, mlir::ValueRange x) -> mlir::Value {
                   auto number = [&](float value) -> mlir::Value {
                     return mlir::arith::ConstantOp::create(b, l, b.getF32FloatAttr(value));
                   };
                   mlir::Value isLive = mlir::arith::CmpIOp::create(
                       b, l, mlir::arith::CmpIPredicate::slt, x[0], x[1]);
                   mlir::Value one = number(1), none = number(0);
                   return mlir::arith::SelectOp::create(b, l, isLive, one, none);
                 });
}

namespace {
/// Builds the op of a scan whose parts have been evaluated.
class ScanBuilder {
public:
  ScanBuilder(Sema &sema, Scan &scan)
      : sema(sema), scan(scan), call(scan.expr.range, nullptr),
        loc(locate(sema, scan.expr.range, scan.signature().name.text)) {}

  /// What the scan gives; an error value where it was reported.
  std::vector<SemaValue> build();

private:
  bool instantiateCell();
  bool readStates();
  bool checkAxes();
  std::vector<mlir::Value> callCell();
  bool endBody(std::vector<mlir::Value> results);
  bool buildBody();

  Sema &sema;
  Scan &scan;
  CallExpr call; ///< Of the cell, with the place of each argument.
  Location loc;
  mlir::Region region;
  mlir::Block *body = nullptr;
  Instance *instance = nullptr;
  std::map<std::string, Axis> bound;
  std::vector<Axes> stateAxes; ///< Outside of the cell, in the order of the parameters.
  llvm::SmallVector<mlir::Value> initial;
  mlir::Value live, liveStep;          ///< Where there are lengths: of all steps, and in the body.
  llvm::SmallVector<mlir::Type> types; ///< Of the op's results.
};
} // namespace

/// The function of the cell, for a step's inputs, which become arguments of the body.
bool ScanBuilder::instantiateCell() {
  for (auto [parameter, value] : llvm::zip_equal(scan.inputs, scan.scanned)) {
    auto type = llvm::cast<mlir::RankedTensorType>(value.getType());
    int at = findAxis(axesOfValue(value), scan.expr.along.text);
    scan.arguments[parameter] = SemaValue::of(body->addArgument(withoutAxis(type, at), loc));
  }
  for (unsigned i = 0; i < scan.arguments.size(); ++i) {
    auto named = llvm::find_if(scan.named, [&](auto &entry) {
      return entry.first == scan.signature().parameters[i].name.text;
    });
    SourceRange place = named != scan.named.end()            ? named->second->range
                        : llvm::is_contained(scan.inputs, i) ? scan.expr.over->range
                        : scan.expr.from                     ? scan.expr.from->range
                                                             : scan.expr.range;
    call.arguments.emplace_back().value = std::make_unique<ErrorExpr>(place);
  }
  scan.given.states = scan.states;
  instance = instantiate(sema, *scan.block, scan.owner, scan.arguments, call, scan.given, bound);
  return instance != nullptr;
}

/// The states that the first step gets, with all their axes, and arguments of the body for them.
bool ScanBuilder::readStates() {
  mlir::func::FuncOp function = instance->function;
  if (!llvm::all_of(function.getResultTypes().take_front(instance->results.size()),
                    [](mlir::Type type) {
                      return llvm::cast<mlir::RankedTensorType>(type).getElementType().isF32();
                    })) {
    sema.report
        .error(DiagCode::CellStates, scan.expr.cell->range,
               "the states of a cell that is scanned, and what it gives, are f32")
        .help("write `float(n)` for a whole number, `floor(x)` for what it was");
    return false;
  }
  for (unsigned state : scan.states) {
    Axes axes = axesOutside(*instance, instance->parameters[state],
                            scan.signature().parameters[state].type, bound);
    mlir::RankedTensorType type = tensorType(sema, axes, scan.expr.range);
    if (!type)
      return false;
    const SemaValue &value = scan.arguments[state];
    initial.push_back(
        value.isZeros()
            ? makeMap(
                  sema, {}, axes, loc,
                  [](mlir::OpBuilder &b, Location l, mlir::ValueRange) {
                    return mlir::arith::ConstantOp::create(b, l, b.getF32FloatAttr(0)).getResult();
                  })
            : spread(sema, value.tensor, axes, loc));
    stateAxes.push_back(axes);
    scan.arguments[state] = SemaValue::of(body->addArgument(type, loc));
  }
  return true;
}

/// The results of the cell's function in the body, states with all their axes.
std::vector<mlir::Value> ScanBuilder::callCell() {
  llvm::SmallVector<mlir::Value> operands;
  if (scan.owner.inStack)
    operands.push_back(sema.function.layer);
  llvm::append_range(operands, blockOperands(sema, *instance, call, scan.arguments));
  auto step = mlir::func::CallOp::create(sema.builder, loc, instance->function, operands);
  std::vector<mlir::Value> results;
  const Signature &signature = scan.signature();
  for (size_t i = 0; i < instance->results.size(); ++i) {
    SemaValue value =
        outside(sema, step.getResult(i), *instance, *scan.cell, i, bound, scan.expr.range);
    if (!value.isTensor())
      return {};
    if (int state = signature.stateOf(i); state >= 0)
      value = SemaValue::of(spread(sema, value.tensor,
                                   stateAxes[llvm::find(scan.states, state) - scan.states.begin()],
                                   loc));
    results.push_back(value.tensor);
  }
  return results;
}

/// Whether the axis of the steps and those of the lengths are none that results lack or have.
bool ScanBuilder::checkAxes() {
  for (const Axes &axes : stateAxes) {
    if (findAxis(axes, scan.along.name) >= 0) {
      sema.report
          .error(DiagCode::DuplicateAxis, scan.expr.along.range,
                 "a state has the axis `" + scan.along.name + "` of the steps")
          .says("this state is " + showAxes(axes));
      return false;
    }
    for (const Axis &axis : scan.lengths ? axesOfValue(scan.lengths) : Axes())
      if (findAxis(axes, axis.name) < 0) {
        sema.report
            .error(DiagCode::ScanArguments, scan.expr.lengths->range,
                   "lengths have the axis `" + axis.name + "`, which a state lacks")
            .says("this state is " + showAxes(axes));
        return false;
      }
  }
  return true;
}

/// Ends the body: what a step gives, and the new states.
bool ScanBuilder::endBody(std::vector<mlir::Value> results) {
  const Signature &signature = scan.signature();
  llvm::SmallVector<mlir::Value> next, states(scan.states.size());
  for (auto [i, result] : llvm::enumerate(results)) {
    int state = signature.stateOf(i);
    if (state < 0)
      next.push_back(result);
    else
      states[llvm::find(scan.states, state) - scan.states.begin()] =
          live ? whereLive(sema, liveStep, result, scan.arguments[state].tensor, loc) : result;
  }
  if (next.empty())
    next.push_back(states.front());
  // The axis of the steps is where the first input has it.
  auto first = llvm::cast<mlir::RankedTensorType>(scan.scanned.front().getType());
  int at = axisIndex(first, scan.along.name);
  for (mlir::Value output : next) {
    auto type = llvm::cast<mlir::RankedTensorType>(output.getType());
    if (findAxis(axesOfValue(output), scan.along.name) >= 0) {
      sema.report.error(DiagCode::DuplicateAxis, scan.expr.along.range,
                        "a step gives the axis `" + scan.along.name + "` of the steps");
      return false;
    }
    types.push_back(withAxisOf(type, first, at, at));
  }
  llvm::append_range(types, mlir::ValueRange(initial).getTypes());
  llvm::append_range(next, states);
  NextOp::create(sema.builder, loc, next);
  return true;
}

bool ScanBuilder::buildBody() {
  body = &region.emplaceBlock();
  if (!instantiateCell())
    return false;
  if (scan.lengths) {
    live = liveSteps(sema, scan, loc);
    if (!live)
      return false;
    auto type = llvm::cast<mlir::RankedTensorType>(live.getType());
    liveStep = body->addArgument(withoutAxis(type, 0), loc);
  }
  if (!readStates() || !checkAxes())
    return false;
  mlir::OpBuilder::InsertionGuard guard(sema.builder);
  sema.builder.setInsertionPointToEnd(body);
  std::vector<mlir::Value> results = callCell();
  return !results.empty() && endBody(results);
}

std::vector<SemaValue> ScanBuilder::build() {
  if (!buildBody()) {
    for (mlir::Operation &op : llvm::make_early_inc_range(llvm::reverse(*body)))
      op.erase();
    return {SemaValue::wrong()};
  }
  llvm::SmallVector<mlir::Value> inputs(scan.scanned.begin(), scan.scanned.end());
  if (live)
    inputs.push_back(live);
  auto op = ScanOp::create(sema.builder, loc, types, inputs, initial, scan.along.name,
                           scan.expr.isReverse);
  op.getBody().takeBody(region);
  std::vector<SemaValue> values;
  for (mlir::Value output : op.outputs())
    values.push_back(SemaValue::of(live ? whereLive(sema, live, output, nullptr, loc) : output));
  for (mlir::Value state : op.states())
    values.push_back(SemaValue::of(state));
  return values;
}

/// Both, and how many of the values are what the steps give.
static std::vector<SemaValue> evalScan(Sema &sema, const ScanExpr &expr, size_t &outputs) {
  llvm::SaveAndRestore place(
      sema.report.usedAt, sema.source.isUsed(expr.range.begin) ? sema.report.usedAt : expr.range);
  Scan scan(expr);
  outputs = 1;
  if (!readScan(sema, scan))
    return {SemaValue::wrong()};
  std::vector<SemaValue> values = ScanBuilder(sema, scan).build();
  if (values.size() > scan.states.size())
    outputs = values.size() - scan.states.size();
  return values;
}

std::vector<SemaValue> evalScan(Sema &sema, const ScanExpr &scan) {
  size_t outputs = 0;
  return evalScan(sema, scan, outputs);
}

SemaValue evalScanned(Sema &sema, const ScanExpr &scan) {
  size_t outputs = 0;
  std::vector<SemaValue> values = evalScan(sema, scan, outputs);
  values.resize(outputs);
  return theOnly(sema.report, values, scan);
}

} // namespace attn::frontend
