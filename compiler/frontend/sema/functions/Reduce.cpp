// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls of (axes..., tensor) -> attn.reduce, attn.softmax, and attn.topk with an attn.pick.
#include "compiler/frontend/sema/functions/Reduce.h"
#include "compiler/frontend/sema/expressions/Apply.h"
#include "compiler/frontend/sema/expressions/Exprs.h"
#include "compiler/frontend/sema/functions/Rearrange.h"
#include "compiler/frontend/sema/sizes/Axes.h"
#include "compiler/frontend/sema/sizes/Tensors.h"
#include "dialect/Choices.h"

namespace attn::frontend {

using namespace ast;

mlir::Value createReduce(Sema &sema, Reduction kind, mlir::Value value, llvm::ArrayRef<Axis> over,
                         mlir::Location loc) {
  Axes kept = axesOfValue(value);
  llvm::SmallVector<llvm::StringRef> names;
  for (const Axis &axis : over) {
    names.push_back(axis.name);
    llvm::erase(kept, axis);
  }
  mlir::Type element;
  if (kind == Reduction::ArgMax)
    element = sema.builder.getI32Type();
  mlir::RankedTensorType type = tensorType(sema, kept, {}, element);
  return ReduceOp::create(sema.builder, loc, type, value, kind,
                          sema.builder.getStrArrayAttr(names));
}

/// What the larger or smaller of two is written as, where `max` or `min` was meant so.
static llvm::StringRef ofTwo(Reduction kind) {
  return kind == Reduction::Max   ? "write `relu(a - b) + b` for the larger of two tensors"
         : kind == Reduction::Min ? "write `a - relu(a - b)` for the smaller of two tensors"
                                  : "";
}

/// Whether an argument is an expression of sizes, as axes are.
static bool maybeAxis(Sema &sema, const Expr &expr) {
  if (auto *path = llvm::dyn_cast<PathExpr>(&expr)) {
    Decl *decl = sema.names.scope->find(path->path.str());
    return !decl || decl->kind == Decl::Kind::Dim;
  }
  if (auto *binary = llvm::dyn_cast<BinaryExpr>(&expr))
    return maybeAxis(sema, *binary->left) && maybeAxis(sema, *binary->right);
  return llvm::isa<IntegerExpr>(expr);
}

SemaValue callReduce(Sema &sema, const CallExpr &call, Reduction kind) {
  std::string name = stringifyReduction(kind).str(), usage = name + "(N, x)";
  unsigned most = kind == Reduction::ArgMax ? 2 : 32;
  if (!plainArguments(sema.report, call, name, 2, most, usage))
    return SemaValue::wrong();
  if (call.arguments.size() == 2 && isSwapped(sema, call, name))
    return SemaValue::wrong();
  for (const Argument &argument : llvm::ArrayRef(call.arguments).drop_back())
    if (!maybeAxis(sema, *argument.value)) {
      Diagnostic &diagnostic =
          sema.report.error(DiagCode::WrongArguments, argument.value->range,
                            "`" + name + "` takes axes, then a tensor, and this is no axis");
      if (llvm::StringRef two = ofTwo(kind); !two.empty())
        diagnostic.help(two);
      diagnostic.help("write `" + usage + "`");
      return SemaValue::wrong();
    }
  const Expr &place = *call.arguments.back().value;
  mlir::Value value = evalTensor(sema, place, "what the " + name + " is taken of");
  if (!value)
    return SemaValue::wrong();
  Axes axes = axesOfValue(value), over;
  for (const Argument &argument : llvm::ArrayRef(call.arguments).drop_back()) {
    int at = namedAxis(sema, *argument.value, value, place, name);
    if (at < 0)
      return SemaValue::wrong();
    if (findAxis(over, axes[at].name) >= 0) {
      sema.report.error(DiagCode::DuplicateAxis, argument.value->range,
                        "the axis `" + axisLabel(axes[at].name) + "` is named twice");
      return SemaValue::wrong();
    }
    over.push_back(axes[at]);
  }
  return SemaValue::of(createReduce(sema, kind, value, over, locate(sema, call.range)));
}

SemaValue callSoftmax(Sema &sema, const CallExpr &call) {
  if (!plainArguments(sema.report, call, "softmax", 2, 2, "softmax(N, x)") ||
      isSwapped(sema, call, "softmax"))
    return SemaValue::wrong();
  const Expr &place = *call.arguments[1].value;
  mlir::Value value = evalTensor(sema, place, "what the softmax is taken of");
  int at = namedAxis(sema, *call.arguments[0].value, value, place, "softmax");
  if (at < 0)
    return SemaValue::wrong();
  auto op = SoftmaxOp::create(sema.builder, locate(sema, call.range), value.getType(), value,
                              sema.builder.getI64IntegerAttr(at));
  return SemaValue::of(op.getResult());
}

/// The axis of what a `topk` gives, in the place of `whole`; nothing where it was reported.
static std::optional<Axis> choicesOf(Sema &sema, const CallExpr &call, const Axes &axes, int at) {
  const Expr &place = *call.arguments[1].value, &name = *call.arguments[2].value;
  std::optional<Axis> choices = axisOf(sema, name);
  if (!choices)
    return std::nullopt;
  const Axis &whole = axes[at];
  if (whole.isDynamic() || choices->isDynamic()) {
    sema.report
        .error(DiagCode::DynamicAxis,
               (whole.isDynamic() ? call.arguments[0].value : call.arguments[2].value)->range,
               "`topk` needs sizes that are known when compiling, and `" +
                   (whole.isDynamic() ? whole.name : choices->name) +
                   "` is known only when running")
        .at(place.range, "this is " + showAxes(axes));
    return std::nullopt;
  }
  if (choices->size > whole.size) {
    sema.report
        .error(DiagCode::CutBounds, name.range,
               "the " + llvm::Twine(choices->size) + " largest of `" + whole.name +
                   "` are asked for, which has " + llvm::Twine(whole.size))
        .at(place.range, "this is " + showAxes(axes));
    return std::nullopt;
  }
  if (int other = findAxis(axes, choices->name); other >= 0 && other != at) {
    sema.report
        .error(DiagCode::DuplicateAxis, name.range,
               "the axis `" + choices->name + "` would appear twice")
        .at(place.range, "this is " + showAxes(axes))
        .help("give the choices a dim of their own, of the same size");
    return std::nullopt;
  }
  return choices;
}

std::vector<SemaValue> callTopk(Sema &sema, const CallExpr &call) {
  if (!plainArguments(sema.report, call, "topk", 3, 3, "let values, places = topk(N, x, 4)") ||
      isSwapped(sema, call, "topk"))
    return {SemaValue::wrong()};
  const Expr &along = *call.arguments[0].value, &place = *call.arguments[1].value;
  mlir::Value value = evalTensor(sema, place, "what the largest are taken of");
  int at = namedAxis(sema, along, value, place, "topk");
  if (at < 0)
    return {SemaValue::wrong()};
  Axes axes = axesOfValue(value);
  std::optional<Axis> choices = choicesOf(sema, call, axes, at);
  if (!choices)
    return {SemaValue::wrong()};
  Axis whole = axes[at];
  axes[at] = *choices;
  mlir::Location loc = locate(sema, call.range);
  mlir::RankedTensorType type = tensorType(sema, axes, call.range, sema.builder.getI32Type());
  auto places = TopkOp::create(sema.builder, loc, type, value, static_cast<uint64_t>(at));
  auto values = PickOp::create(sema.builder, loc, tensorType(sema, axes, call.range), value,
                               places.getResult(), static_cast<uint64_t>(at));
  sema.output.lookups[values] = {whole.name, along.range, place.range};
  return {SemaValue::of(values.getResult()), SemaValue::of(places.getResult())};
}

} // namespace attn::frontend
