// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Application: it lifts over the axes that an arrow does not name.
#include "compiler/frontend/sema/expressions/Apply.h"
#include "compiler/frontend/sema/blocks/BlockParts.h"
#include "compiler/frontend/sema/blocks/Blocks.h"
#include "compiler/frontend/sema/blocks/Stacks.h"
#include "compiler/frontend/sema/entries/Caches.h"
#include "compiler/frontend/sema/expressions/Exprs.h"
#include "compiler/frontend/sema/expressions/Functions.h"
#include "compiler/frontend/sema/functions/Lookups.h"
#include "compiler/frontend/sema/parameters/Params.h"
#include "compiler/frontend/sema/sizes/Axes.h"
#include "compiler/frontend/sema/sizes/Tensors.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

namespace attn::frontend {

using namespace ast;
using mlir::Location;

static SemaValue applyLinear(Sema &sema, Decl &decl, const ast::CallExpr &call);

static SemaValue applyNorm(Sema &sema, Decl &decl, const ast::CallExpr &call);

bool plainArguments(Reporter &report, const CallExpr &call, llvm::StringRef name, unsigned least,
                    unsigned most, llvm::StringRef usage) {
  for (const Argument &argument : call.arguments)
    if (!argument.isPlain()) {
      report
          .error(DiagCode::WrongArguments, argument.value->range,
                 "`" + name + "` takes no " +
                     (argument.name ? "named arguments"
                                    : "`" + argument.clauses().front().first + "`"))
          .help("write `" + usage + "`");
      return false;
    }
  if (call.arguments.size() >= least && call.arguments.size() <= most)
    return true;
  std::string wanted = least == most ? std::to_string(least)
                       : most == ~0u ? "at least " + std::to_string(least)
                                     : std::to_string(least) + " to " + std::to_string(most);
  report
      .error(DiagCode::WrongArguments, call.range,
             "`" + name + "` takes " + wanted + (wanted == "1" ? " argument" : " arguments") +
                 ", but gets " + llvm::Twine(call.arguments.size()))
      .help("write `" + usage + "`");
  return false;
}

/// The single tensor that something is applied to; null where that was wrong.
static mlir::Value theArgument(Sema &sema, const CallExpr &call, llvm::StringRef name) {
  if (!plainArguments(sema.report, call, name, 1, 1, (name + "(x)").str()))
    return nullptr;
  return evalTensor(sema, *call.arguments[0].value, "what `" + name + "` is applied to");
}

SemaValue evalCall(Sema &sema, const CallExpr &call) {
  auto *callee = llvm::dyn_cast<PathExpr>(call.callee.get());
  if (!callee) {
    if (!llvm::isa<ErrorExpr>(*call.callee))
      sema.report.error(DiagCode::NotAFunction, call.callee->range, "this cannot be applied")
          .note("what is applied is a name: a linear map, a norm, a stack or a function");
    return SemaValue::wrong();
  }
  std::string name = callee->path.str();
  Decl *decl = sema.names.scope->find(name);
  if (!decl && pushedTo(sema.names, call))
    return theOnly(sema.report, evalSeveral(sema, call), call);
  if (!decl)
    return callBuiltin(sema, call, name);
  decl->used = true;
  switch (decl->kind) {
  case Decl::Kind::Linear:
    return applyLinear(sema, *decl, call);
  case Decl::Kind::Embedding:
    return applyEmbedding(sema, *decl, call);
  case Decl::Kind::Norm:
    return applyNorm(sema, *decl, call);
  case Decl::Kind::Stack:
    return theOnly(sema.report, applyStack(sema, *decl, call), call);
  case Decl::Kind::Part:
    return theOnly(sema.report, applyPart(sema, *decl, call), call);
  case Decl::Kind::Block:
    return theOnly(sema.report, applyBlock(sema, *decl, call), call);
  case Decl::Kind::Unsupported:
    return SemaValue::wrong();
  case Decl::Kind::Value:
    if (decl->value.isError())
      return SemaValue::wrong();
    [[fallthrough]];
  default:
    if (decl->clashing)
      return SemaValue::wrong();
    sema.report.error(DiagCode::NotAFunction, callee->range, "`" + name + "` cannot be applied")
        .at(decl->range, "declared here")
        .note("what is applied is a linear map, a norm, a stack or a function");
    return SemaValue::wrong();
  }
}

static SemaValue applyLinear(Sema &sema, Decl &decl, const CallExpr &call) {
  mlir::Value input = theArgument(sema, call, decl.name);
  mlir::Value result = input && !decl.wrong ? applyLinear(sema, decl, call, input) : mlir::Value();
  return result ? SemaValue::of(result) : SemaValue::wrong();
}

/// A linear map along axes: at each of their places, a sum of products with the weights of that.
static mlir::Value applyAlong(Sema &sema, const Decl &decl, const CallExpr &call, mlir::Value input,
                              const Axes &result) {
  Location loc = locate(sema, call.range, decl.name);
  Axes axes = axesOfValue(input);
  for (const Axis &axis : decl.along) {
    int at = findAxis(axes, axis.name);
    if (at >= 0 && axes[at] == axis)
      continue;
    Diagnostic &diagnostic = sema.report.error(
        DiagCode::LinearAxes, call.arguments[0].value->range,
        "`" + decl.name + "` is along " + listAxes(decl.along) + " but gets " + showAxes(axes));
    diagnostic.at(decl.range, "declared here");
    Axes both = decl.along;
    llvm::append_range(both, axes);
    if (std::string where = whereSizes(sema, both); !where.empty())
      diagnostic.note(where);
    return nullptr;
  }
  mlir::RankedTensorType type = tensorType(sema, result, call.range);
  if (!type)
    return nullptr;
  llvm::SmallVector<llvm::StringRef> over;
  for (const Axis &axis : decl.from)
    over.push_back(axis.name);
  mlir::Value operands[] = {input, getParam(sema, decl.weight, loc)};
  auto op = ReduceOp::create(sema.builder, loc, type, operands, Reduction::Sum,
                             sema.builder.getStrArrayAttr(over));
  mlir::Type f32 = sema.builder.getF32Type();
  mlir::Block &body = op.getBody().emplaceBlock();
  body.addArguments({f32, f32}, {loc, loc});
  mlir::OpBuilder inner = mlir::OpBuilder::atBlockEnd(&body);
  YieldOp::create(
      inner, loc,
      mlir::arith::MulFOp::create(inner, loc, body.getArgument(0), body.getArgument(1)));
  if (!decl.bias.type)
    return op.getResult();
  mlir::Value bias = getParam(sema, decl.bias, loc);
  return makeMap(sema, {op.getResult(), bias}, result, loc,
                 [](mlir::OpBuilder &b, Location l, mlir::ValueRange x) {
                   return mlir::arith::AddFOp::create(b, l, x[0], x[1]).getResult();
                 });
}

mlir::Value applyLinear(Sema &sema, Decl &decl, const CallExpr &call, mlir::Value input) {
  auto &linear = *llvm::cast<LinearDecl>(decl.item);
  Location loc = locate(sema, call.range, decl.name);
  Axes axes = axesOfValue(input);
  mlir::Value ready = withLast(sema, input, decl.from, loc);
  if (!ready) {
    size_t taken = std::min(decl.from.size(), axes.size());
    llvm::ArrayRef<Axis> got = llvm::ArrayRef<Axis>(axes).take_back(taken);
    Diagnostic &diagnostic = sema.report.error(
        DiagCode::LinearAxes, call.arguments[0].value->range,
        "`" + decl.name + "` takes " + (decl.from.size() == 1 ? "axis " : "axes ") +
            listAxes(decl.from) + " but gets " + listAxes(got));
    diagnostic.says("this is " + showAxes(axes));
    SourceRange arrow = linear.from.front()->range.to(linear.from.back()->range);
    diagnostic.at(arrow, "declared here");
    Axes both = decl.from;
    llvm::append_range(both, got);
    if (std::string where = whereSizes(sema, both); !where.empty())
      diagnostic.note(where);
    bool isDynamic = llvm::any_of(got, [](const Axis &axis) { return axis.isDynamic(); });
    auto *attend = llvm::dyn_cast<AttendExpr>(call.arguments[0].value.get());
    if (attend && decl.from.size() > 1 && !got.empty() && got.back() != decl.from.back())
      diagnostic.help(
          "give the query, the keys and the values heads, `linear q, k, v: " + got.back().name +
          " -> " + listAxes(decl.from) + "`: what the attention returns has them, too");
    else if (taken == decl.from.size() && !isDynamic)
      diagnostic.help("write `linear " + decl.name + ": " + listAxes(got) + " -> " +
                          listAxes(decl.to) + (linear.bias ? " bias`" : "`"),
                      linear.names.size() == 1 ? std::optional(Edit{arrow, listAxes(got)})
                                               : std::nullopt);
    return nullptr;
  }
  Axes result = axesOfValue(ready);
  result.resize(result.size() - decl.from.size());
  for (const Axis &axis : decl.to) {
    if (findAxis(result, axis.name) >= 0) {
      sema.report
          .error(DiagCode::DuplicateAxis, call.range,
                 "the result of `" + decl.name + "` would have the axis `" + axis.name + "` twice")
          .at(call.arguments[0].value->range, "this is " + showAxes(axes))
          .at(decl.range, "gives " + listAxes(decl.to));
      return nullptr;
    }
    result.push_back(axis);
  }
  if (!decl.along.empty())
    return applyAlong(sema, decl, call, ready, result);
  mlir::RankedTensorType type = tensorType(sema, result, call.range);
  if (!type)
    return nullptr;
  mlir::Value weight = getParam(sema, decl.weight, loc);
  llvm::SmallVector<mlir::Value, 1> bias;
  if (decl.bias.type)
    bias.push_back(getParam(sema, decl.bias, loc));
  auto op = LinearOp::create(sema.builder, loc, type, ready, weight, bias, decl.from.size());
  return op.getResult();
}

static NormKind kindOf(NormDecl::Norm norm) {
  switch (norm) {
  case NormDecl::Norm::Layer:
    return NormKind::Layer;
  case NormDecl::Norm::RootMeanSquare:
    return NormKind::RootMeanSquare;
  case NormDecl::Norm::Euclidean:
    return NormKind::Euclidean;
  }
  llvm_unreachable("all norms have a kind");
}

static SemaValue applyNorm(Sema &sema, Decl &decl, const CallExpr &call) {
  mlir::Value input = theArgument(sema, call, decl.name);
  if (!input || decl.wrong)
    return SemaValue::wrong();
  Location loc = locate(sema, call.range, decl.name);
  mlir::Value ready = withLast(sema, input, decl.from, loc);
  if (!ready) {
    Axes axes = axesOfValue(input), both = decl.from;
    llvm::append_range(both, axes);
    Diagnostic &diagnostic = sema.report.error(
        DiagCode::NormAxes, call.arguments[0].value->range,
        "`" + decl.name + "` is over " + listAxes(decl.from) + " but gets " + showAxes(axes));
    diagnostic.at(decl.range, "declared here");
    if (std::string where = whereSizes(sema, both); !where.empty())
      diagnostic.note(where);
    return SemaValue::wrong();
  }
  auto number = [&](double value) { return sema.builder.getF64FloatAttr(value); };
  auto norm =
      NormAttr::get(sema.builder.getContext(), kindOf(llvm::cast<NormDecl>(decl.item)->norm),
                    number(decl.eps), decl.offset != 0 ? number(decl.offset) : mlir::FloatAttr());
  auto param = [&](const ParamRef &ref) {
    return ref.type ? getParam(sema, ref, loc) : mlir::Value();
  };
  mlir::Value weight = param(decl.weight);
  auto op = NormOp::create(sema.builder, loc, ready.getType(), ready, weight, param(decl.bias),
                           norm, decl.from.size());
  return SemaValue::of(op.getResult());
}

} // namespace attn::frontend
