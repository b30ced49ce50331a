// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expressions -> ops. Operators match axes by name.
#include "compiler/frontend/sema/expressions/Exprs.h"
#include "compiler/frontend/sema/Limits.h"
#include "compiler/frontend/sema/Names.h"
#include "compiler/frontend/sema/Output.h"
#include "compiler/frontend/sema/attention/Attention.h"
#include "compiler/frontend/sema/blocks/BlockParts.h"
#include "compiler/frontend/sema/blocks/Blocks.h"
#include "compiler/frontend/sema/blocks/Stacks.h"
#include "compiler/frontend/sema/entries/Caches.h"
#include "compiler/frontend/sema/entries/States.h"
#include "compiler/frontend/sema/expressions/Apply.h"
#include "compiler/frontend/sema/expressions/Elementwise.h"
#include "compiler/frontend/sema/functions/Cuts.h"
#include "compiler/frontend/sema/functions/Reduce.h"
#include "compiler/frontend/sema/functions/Scans.h"
#include "compiler/frontend/sema/parameters/Params.h"
#include "compiler/frontend/sema/parameters/Tables.h"
#include "compiler/frontend/sema/sizes/Axes.h"
#include "compiler/frontend/sema/sizes/Config.h"
#include "compiler/frontend/sema/sizes/Dims.h"
#include "compiler/frontend/sema/sizes/Statics.h"
#include "compiler/frontend/sema/sizes/Tensors.h"
#include "compiler/frontend/sema/sizes/Types.h"
#include "dialect/Locations.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include <cmath>

namespace attn::frontend {

using namespace ast;

static SemaValue evalNode(Sema &sema, const ast::Expr &expr);

static SemaValue evalPath(Sema &sema, const ast::PathExpr &path);

static SemaValue evalIf(Sema &sema, const ast::IfExpr &choice);

static SemaValue evalUnary(Sema &sema, const ast::UnaryExpr &unary);

static SemaValue evalBinary(Sema &sema, const ast::BinaryExpr &binary);

constexpr unsigned deepestExpressions = 1500;

SemaValue eval(Sema &sema, const Expr &expr) {
  if (sema.statement.evalDepth >= deepestExpressions) {
    sema.report
        .error(DiagCode::NestedTooDeeply, expr.range,
               "expressions are nested too deeply, counted through the blocks they apply")
        .help("name parts of it by `let`");
    return SemaValue::wrong();
  }
  if (!spend(sema, 1, expr.range))
    return SemaValue::wrong();
  ++sema.statement.evalDepth;
  SemaValue value = evalNode(sema, expr);
  --sema.statement.evalDepth;
  recordType(sema, expr.range, value);
  return value;
}

static SemaValue evalNode(Sema &sema, const Expr &expr) {
  if (isConfig(sema.names, expr)) {
    std::optional<double> number = configNumber(sema, expr);
    return number ? SemaValue::of(*number) : SemaValue::wrong();
  }
  switch (expr.kind) {
  case Expr::Kind::Error:
    return SemaValue::wrong();
  case Expr::Kind::Integer:
    return SemaValue::of(static_cast<double>(llvm::cast<IntegerExpr>(expr).value));
  case Expr::Kind::Float:
    return SemaValue::of(llvm::cast<FloatExpr>(expr).value);
  case Expr::Kind::Path:
    return evalPath(sema, llvm::cast<PathExpr>(expr));
  case Expr::Kind::Call:
    return evalCall(sema, llvm::cast<CallExpr>(expr));
  case Expr::Kind::Binary:
    return evalBinary(sema, llvm::cast<BinaryExpr>(expr));
  case Expr::Kind::Unary:
    return evalUnary(sema, llvm::cast<UnaryExpr>(expr));
  case Expr::Kind::If:
    return evalIf(sema, llvm::cast<IfExpr>(expr));
  case Expr::Kind::Attend:
    return theOnly(sema.report, evalAttend(sema, llvm::cast<AttendExpr>(expr)), expr);
  case Expr::Kind::String:
    sema.report.error(DiagCode::NotAValue, expr.range, "a string is no value")
        .note("strings name tensors and the axes of `split`");
    return SemaValue::wrong();
  case Expr::Kind::Index:
    sema.report
        .error(DiagCode::NotAValue, expr.range,
               "a tensor has its elements at places of an axis with a name")
        .help("`pick(x, N at index)` takes elements along `N`, `pick(x, N at 1)` the second one");
    return SemaValue::wrong();
  case Expr::Kind::Tuple:
    sema.report.error(DiagCode::NotAValue, expr.range, "several values stand where one is needed")
        .note("parentheses with commas are for what an entry returns, and what a scan goes over");
    return SemaValue::wrong();
  case Expr::Kind::Scan:
    return evalScanned(sema, llvm::cast<ScanExpr>(expr));
  }
  return SemaValue::wrong();
}

SemaValue theOnly(Reporter &report, const std::vector<SemaValue> &values, const Expr &expr) {
  if (values.size() == 1)
    return values.front();
  if (!values.front().isError())
    report
        .error(DiagCode::SeveralValues, expr.range,
               "this gives " + llvm::Twine(values.size()) + " values, where one is needed")
        .help("name them before: `let a, b = …`");
  return SemaValue::wrong();
}

std::vector<SemaValue> evalSeveral(Sema &sema, const Expr &expr) {
  if (auto *choice = llvm::dyn_cast<IfExpr>(&expr)) {
    if (isTensorCondition(sema, *choice->condition))
      return {eval(sema, expr)};
    std::optional<bool> condition = evalCondition(sema, *choice->condition);
    if (!condition)
      return {SemaValue::wrong()};
    return evalSeveral(sema, *condition ? *choice->thenValue : *choice->elseValue);
  }
  if (auto *tuple = llvm::dyn_cast<TupleExpr>(&expr)) {
    std::vector<SemaValue> values;
    for (const ExprPtr &element : tuple->elements)
      values.push_back(eval(sema, *element));
    bool isWrong = llvm::any_of(values, [](const SemaValue &value) { return value.isError(); });
    return isWrong ? std::vector{SemaValue::wrong()} : values;
  }
  if (auto *attend = llvm::dyn_cast<AttendExpr>(&expr))
    return evalAttend(sema, *attend);
  if (auto *scan = llvm::dyn_cast<ScanExpr>(&expr))
    return evalScan(sema, *scan);
  auto *call = llvm::dyn_cast<CallExpr>(&expr);
  auto *callee = call ? llvm::dyn_cast<PathExpr>(call->callee.get()) : nullptr;
  if (Decl *cache = pushedTo(sema.names, expr)) {
    cache->used = true;
    sema.report
        .error(DiagCode::CachePush, expr.range, "this does not say along which axis it pushes")
        .help("write `let k, v = " + sema.source.text(expr.range).str() + " along T as S`");
    return {SemaValue::wrong(), SemaValue::wrong()};
  }
  Decl *decl = callee ? sema.names.scope->find(callee->path.str()) : nullptr;
  if (callee && !decl && callee->path.str() == "unpack")
    return callUnpack(sema, *call);
  if (callee && !decl && callee->path.str() == "topk")
    return callTopk(sema, *call);
  switch (decl ? decl->kind : Decl::Kind::Value) {
  case Decl::Kind::Block:
    decl->used = true;
    return applyBlock(sema, *decl, *call);
  case Decl::Kind::Part:
    decl->used = true;
    return applyPart(sema, *decl, *call);
  case Decl::Kind::Stack:
    decl->used = true;
    return applyStack(sema, *decl, *call);
  default:
    return {eval(sema, expr)};
  }
}

mlir::Value evalTensor(Sema &sema, const Expr &expr, const llvm::Twine &what, bool anyElement) {
  std::string text = what.str();
  SemaValue value = eval(sema, expr);
  if (value.isNumber())
    sema.report.error(DiagCode::TensorExpected, expr.range,
                      text + " must be a tensor, but this is a number");
  bool fits =
      value.isTensor() && (anyElement || isCalculable(sema.report, value.tensor, expr.range));
  return fits ? value.tensor : mlir::Value();
}

std::optional<double> evalNumber(Sema &sema, const Expr &expr, const llvm::Twine &what) {
  std::string text = what.str();
  SemaValue value = eval(sema, expr);
  if (value.isTensor())
    sema.report
        .error(DiagCode::NumberExpected, expr.range,
               text + " must be a number, but this is a tensor")
        .says("this is " + showAxes(axesOfValue(value.tensor)));
  return value.isNumber() ? std::optional<double>(value.number) : std::nullopt;
}

static SemaValue evalPath(Sema &sema, const PathExpr &path) {
  std::string name = path.path.str();
  Decl *decl = sema.names.scope->find(name);
  if (!decl) {
    Diagnostic &diagnostic =
        sema.report.error(DiagCode::UnknownName, path.range, "there is no `" + name + "` here");
    if (auto later = sema.statement.namedLater.find(name); later != sema.statement.namedLater.end())
      diagnostic.at(later->second, "it is named only here");
    else
      suggest(sema, diagnostic, name);
    if (diagnostic.helps.empty())
      diagnostic.note("a value is a parameter of the block or entry, a `let`, a `param` or a dim");
    return SemaValue::wrong();
  }
  decl->used = true;
  switch (decl->kind) {
  case Decl::Kind::Value:
    if (decl->value.isCache()) {
      sema.report
          .error(DiagCode::CacheExpected, path.range, "`" + name + "` is a cache, and no tensor")
          .at(decl->range, "declared here")
          .help("push to it: `let k, v = " + name +
                ".push(k, v) along T as S`, or pass it to a "
                "block that takes one");
      return SemaValue::wrong();
    }
    return decl->value.isTensor() ? SemaValue::of(here(sema, decl->value.tensor)) : decl->value;
  case Decl::Kind::Static: {
    ScopedHome home(sema, *decl);
    return eval(sema, *decl->expr);
  }
  case Decl::Kind::Param:
    if (decl->wrong)
      return SemaValue::wrong();
    return SemaValue::of(getParam(sema, decl->weight, locate(sema, path.range, name)));
  case Decl::Kind::Table:
    return tableValue(sema, *decl, path.range);
  case Decl::Kind::Dim: {
    Size size = sizeOf(sema, *decl);
    if (size.error)
      return SemaValue::wrong();
    if (decl->dynamic || !size.isStatic()) {
      sema.report
          .error(DiagCode::NotAValue, path.range,
                 "`" + name + "` is known only when running, and cannot be calculated with")
          .at(decl->range, "declared here");
      return SemaValue::wrong();
    }
    return SemaValue::of(static_cast<double>(size.offset));
  }
  case Decl::Kind::State:
    reportStateInBlock(sema, *decl, path.range);
    return SemaValue::wrong();
  case Decl::Kind::Unsupported:
    return SemaValue::wrong();
  default: {
    if (decl->clashing)
      return SemaValue::wrong();
    Diagnostic &diagnostic =
        sema.report.error(DiagCode::NotAValue, path.range, "`" + name + "` is no value by itself");
    diagnostic.at(decl->range, "declared here");
    if (decl->kind == Decl::Kind::Linear || decl->kind == Decl::Kind::Norm ||
        decl->kind == Decl::Kind::Embedding || decl->kind == Decl::Kind::Stack ||
        decl->kind == Decl::Kind::Part)
      diagnostic.help("apply it: `" + name + "(x)`");
    return SemaValue::wrong();
  }
  }
}

static SemaValue evalIf(Sema &sema, const IfExpr &choice) {
  if (isTensorCondition(sema, *choice.condition))
    return chooseElements(sema, choice);
  std::optional<bool> condition = evalCondition(sema, *choice.condition);
  if (!condition)
    return SemaValue::wrong();
  return eval(sema, *condition ? *choice.thenValue : *choice.elseValue);
}

static SemaValue evalUnary(Sema &sema, const UnaryExpr &unary) {
  SemaValue value = eval(sema, *unary.operand);
  if (value.isTensor())
    return unaryOfTensor(sema, unary, value.tensor);
  if (value.isNumber() && unary.op == UnaryOp::Not) {
    sema.report
        .error(DiagCode::NumberExpected, unary.range,
               "`not` of a number is no number, but a condition")
        .help("write `if … then … else …`");
    return SemaValue::wrong();
  }
  return value.isNumber() ? SemaValue::of(-value.number) : value;
}

std::optional<double> foldNumbers(BinaryOp op, double a, double b) {
  switch (op) {
  case BinaryOp::Add:
    return a + b;
  case BinaryOp::Subtract:
    return a - b;
  case BinaryOp::Multiply:
    return a * b;
  case BinaryOp::Divide:
    return a / b;
  case BinaryOp::Remainder:
    return a - b * std::floor(a / b);
  case BinaryOp::Power:
    return std::pow(a, b);
  default:
    return std::nullopt;
  }
}

static SemaValue evalBinary(Sema &sema, const BinaryExpr &binary) {
  if (binary.op == BinaryOp::Coalesce) {
    if (!isConfig(sema.names, *binary.left)) {
      sema.report.error(DiagCode::NotASize, binary.left->range,
                        "the left side of `??` is a value of the configuration, `config.name`");
      return SemaValue::wrong();
    }
    bool present = configValue(sema, *binary.left);
    return sema.sizes.configFailed ? SemaValue::wrong()
                                   : eval(sema, present ? *binary.left : *binary.right);
  }
  llvm::SmallVector<ElementOperand, 2> sides =
      evalSides(sema, {binary.left.get(), binary.right.get()});
  const SemaValue &left = sides[0].value, &right = sides[1].value;
  if (left.isError() || right.isError())
    return SemaValue::wrong();
  if (left.isNumber() && right.isNumber()) {
    if (std::optional<double> value = foldNumbers(binary.op, left.number, right.number);
        value && std::isfinite(*value))
      return SemaValue::of(*value);
    else if (value)
      sema.report.error(DiagCode::NumberExpected, binary.range, "the result is no finite number");
    else
      sema.report
          .error(DiagCode::NumberExpected, binary.opRange,
                 "`" + spelling(binary.op) + "` of numbers gives no number, but a condition")
          .help("write `if … then … else …`");
    return SemaValue::wrong();
  }
  return binaryOfTensors(sema, binary, sides[0], sides[1]);
}

} // namespace attn::frontend
