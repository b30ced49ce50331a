// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// pick -> attn.pick, or attn.slice where the index is a number; a mean of what is kept -> means and
// maps.
#include "compiler/frontend/sema/functions/Pick.h"
#include "compiler/frontend/sema/expressions/Exprs.h"
#include "compiler/frontend/sema/functions/Rearrange.h"
#include "compiler/frontend/sema/functions/Reduce.h"
#include "compiler/frontend/sema/sizes/Axes.h"
#include "compiler/frontend/sema/sizes/Tensors.h"
#include "compiler/frontend/sema/sizes/Types.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include <cmath>

namespace attn::frontend {

using namespace ast;
using mlir::Location;
namespace arith = mlir::arith;

/// The element at a number, without its axis.
static SemaValue pickNumber(Sema &sema, const CallExpr &call, mlir::Value value, int at,
                            double number) {
  const Expr &index = *call.arguments[1].at;
  Axes axes = axesOfValue(value);
  if (axes[at].isDynamic() && number != 0) {
    sema.report
        .error(DiagCode::DynamicAxis, index.range,
               "the axis `" + axes[at].name + "` is known only when running, and may be shorter")
        .help("`first` and `last` take the elements at its ends");
    return SemaValue::wrong();
  }
  bool isInside =
      axes[at].isDynamic() || (number >= 0 && number < static_cast<double>(axes[at].size));
  if (!isInside || number != std::floor(number)) {
    sema.report
        .error(DiagCode::CutBounds, index.range,
               "`" + axes[at].name + "` has the elements 0 to " + llvm::Twine(axes[at].size - 1))
        .at(call.arguments[0].value->range, "this is " + showAxes(axes));
    return SemaValue::wrong();
  }
  axes.erase(axes.begin() + at);
  auto op = SliceOp::create(sema.builder, locate(sema, call.range),
                            tensorType(sema, axes, call.range, elementOf(value)), value,
                            static_cast<uint64_t>(at), static_cast<uint64_t>(number),
                            /*end=*/false, /*drop=*/true);
  return SemaValue::of(op.getResult());
}

/// The axes of what is picked: those of the index that `axes` lacks in place of the one at `at`.
/// Nothing and reported where an axis of both has two sizes.
static std::optional<Axes> pickedAxes(Sema &sema, const CallExpr &call, const Axes &axes, int at,
                                      mlir::Value index) {
  Axes added;
  for (const Axis &axis : axesOfValue(index)) {
    int own = findAxis(axes, axis.name);
    if (own < 0 || own == at) {
      added.push_back(axis);
    } else if (axes[own] != axis) {
      Diagnostic &diagnostic =
          sema.report.error(DiagCode::ElementwiseMismatch, call.range,
                            "the index has another axis `" + axisLabel(axis.name) + "`");
      diagnostic.at(call.arguments[0].value->range, "this is " + showAxes(axes))
          .at(call.arguments[1].at->range, "this is " + showTensor(index));
      noteSameNames(diagnostic, axes, axesOfValue(index));
      return std::nullopt;
    }
  }
  Axes result(axes.begin(), axes.begin() + at);
  llvm::append_range(result, added);
  result.append(axes.begin() + at + 1, axes.end());
  return result;
}

SemaValue callPick(Sema &sema, const CallExpr &call) {
  bool fits = call.arguments.size() == 2 && call.arguments[0].isPlain() &&
              !call.arguments[1].name && call.arguments[1].at && !call.arguments[1].as;
  if (!fits) {
    sema.report
        .error(DiagCode::WrongArguments, call.range,
               "`pick` takes a tensor, then an axis and which elements to take along it")
        .help("write `pick(x, T at index)`");
    return SemaValue::wrong();
  }
  const Expr &place = *call.arguments[0].value, &along = *call.arguments[1].value,
             &indexPlace = *call.arguments[1].at;
  mlir::Value value = evalTensor(sema, place, "what is picked from", /*anyElement=*/true);
  int at = namedAxis(sema, along, value, place, "pick");
  SemaValue index = eval(sema, indexPlace);
  if (at < 0 || index.isError())
    return SemaValue::wrong();
  if (index.isNumber())
    return pickNumber(sema, call, value, at, index.number);
  mlir::Type element = elementOf(index.tensor);
  if (!element.isInteger(32) && !element.isInteger(64)) {
    sema.report.error(DiagCode::NotIndices, indexPlace.range, "an index consists of integers")
        .says("this is " + showTensor(index.tensor));
    return SemaValue::wrong();
  }
  Axes axes = axesOfValue(value);
  std::optional<Axes> result = pickedAxes(sema, call, axes, at, index.tensor);
  mlir::RankedTensorType type =
      result ? tensorType(sema, *result, call.range, elementOf(value)) : nullptr;
  if (!type)
    return SemaValue::wrong();
  auto op = PickOp::create(sema.builder, locate(sema, call.range), type, value, index.tensor,
                           static_cast<uint64_t>(at));
  sema.output.lookups[op] = {axes[at].name, along.range, indexPlace.range};
  return SemaValue::of(op.getResult());
}

//===------------------------------------------------------------------------------------------===//
// mean where
//===------------------------------------------------------------------------------------------===//

/// What is kept of `value`, and 0 elsewhere.
static mlir::Value kept(Sema &sema, mlir::Value value, mlir::Value keep, Location loc) {
  return makeMap(
      sema, {keep, value}, axesOfValue(value), loc,
      [](mlir::OpBuilder &b, Location l, mlir::ValueRange x) {
        return arith::SelectOp::create(b, l, x[0], x[1], constantOf(b, l, 0)).getResult();
      });
}

/// 1 where `keep` holds, and 0 elsewhere.
static mlir::Value shareOf(Sema &sema, mlir::Value keep, Location loc) {
  return makeMap(sema, {keep}, axesOfValue(keep), loc,
                 [](mlir::OpBuilder &b, Location l, mlir::ValueRange x) {
                   return arith::UIToFPOp::create(b, l, b.getF32Type(), x[0]).getResult();
                 });
}

SemaValue callMeanWhere(Sema &sema, const CallExpr &call) {
  const Argument &argument = call.arguments[1];
  bool fits = call.arguments.size() == 2 && call.arguments[0].isPlain() && !argument.name &&
              argument.clauses().size() == 1;
  if (!fits) {
    sema.report.error(DiagCode::WrongArguments, call.range, "`mean` takes an axis, then a tensor")
        .help("write `mean(T, x where keep)`");
    return SemaValue::wrong();
  }
  const Expr &along = *call.arguments[0].value;
  mlir::Value value = evalTensor(sema, *argument.value, "what the mean is taken of"),
              keep = evalTensor(sema, *argument.where, "what is kept", /*anyElement=*/true);
  if (!value || !keep)
    return SemaValue::wrong();
  if (!elementOf(keep).isInteger(1)) {
    sema.report
        .error(DiagCode::MixedElements, argument.where->range,
               "what is kept is said by truth values, but this is none")
        .says("this is " + showTensor(keep))
        .help("write a comparison, such as `ids != 0`");
    return SemaValue::wrong();
  }
  Axes axes = axesOfValue(value);
  for (const Axis &axis : axesOfValue(keep)) {
    int at = findAxis(axes, axis.name);
    if (at >= 0 && axes[at] == axis)
      continue;
    sema.report
        .error(DiagCode::ElementwiseMismatch, argument.where->range,
               "what is kept has the axis `" + axis.name + "`, which the tensor lacks")
        .says("this is " + showTensor(keep))
        .at(argument.value->range, "this is " + showAxes(axes));
    return SemaValue::wrong();
  }
  int at = namedAxis(sema, along, value, *argument.value, "mean");
  if (at < 0 || namedAxis(sema, along, keep, *argument.where, "mean") < 0)
    return SemaValue::wrong();
  Location loc = locate(sema, call.range);
  mlir::Value sum = createReduce(sema, Reduction::Sum, kept(sema, value, keep, loc), axes[at], loc),
              share = createReduce(sema, Reduction::Sum, shareOf(sema, keep, loc), axes[at], loc);
  return SemaValue::of(
      makeMap(sema, {sum, share}, axesOfValue(sum), loc,
              [](mlir::OpBuilder &b, Location l, mlir::ValueRange x) -> mlir::Value {
                mlir::Value none = arith::CmpFOp::create(b, l, arith::CmpFPredicate::OEQ, x[1],
                                                         constantOf(b, l, 0)),
                            quotient = arith::DivFOp::create(b, l, x[0], x[1]);
                return arith::SelectOp::create(b, l, none, constantOf(b, l, 0), quotient);
              }));
}

} // namespace attn::frontend
