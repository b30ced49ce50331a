// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expressions -> ops. Operators match axes by name.
#include "compiler/frontend/sema/SemaImpl.h"
#include "dialect/Locations.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include <cmath>

namespace attn::frontend {

using namespace ast;
using mlir::Location;

constexpr unsigned deepestExpressions = 1500;

SemaValue Sema::eval(const Expr &expr) {
  if (evalDepth >= deepestExpressions) {
    error(DiagCode::NestedTooDeeply, expr.range,
          "expressions are nested too deeply, counted through the blocks they apply")
        .help("name parts of it by `let`");
    return SemaValue::wrong();
  }
  if (!spend(1, expr.range))
    return SemaValue::wrong();
  ++evalDepth;
  SemaValue value = evalNode(expr);
  --evalDepth;
  recordType(expr.range, value);
  return value;
}

SemaValue Sema::evalNode(const Expr &expr) {
  switch (expr.kind) {
  case Expr::Kind::Error:
    return SemaValue::wrong();
  case Expr::Kind::Integer:
    return SemaValue::of(static_cast<double>(llvm::cast<IntegerExpr>(expr).value));
  case Expr::Kind::Float:
    return SemaValue::of(llvm::cast<FloatExpr>(expr).value);
  case Expr::Kind::Path:
    return evalPath(llvm::cast<PathExpr>(expr));
  case Expr::Kind::Call:
    return evalCall(llvm::cast<CallExpr>(expr));
  case Expr::Kind::Binary:
    return evalBinary(llvm::cast<BinaryExpr>(expr));
  case Expr::Kind::Unary:
    return evalUnary(llvm::cast<UnaryExpr>(expr));
  case Expr::Kind::If:
    return evalIf(llvm::cast<IfExpr>(expr));
  case Expr::Kind::Attend:
    return theOnly(evalAttend(llvm::cast<AttendExpr>(expr)), expr);
  case Expr::Kind::String:
    error(DiagCode::NotAValue, expr.range, "a string is no value")
        .note("strings name tensors and the axes of `split`");
    return SemaValue::wrong();
  case Expr::Kind::Index:
    unsupported(
        expr.range, "indexing a tensor",
        "`first(N, x)` and `last(N, x)` take the ends of an axis; `attend first(N, x) over x, x "
        "along N { mask j == 1 }` takes the second element");
    return SemaValue::wrong();
  case Expr::Kind::Tuple:
    unsupported(expr.range, "a tuple of values");
    return SemaValue::wrong();
  case Expr::Kind::Scan:
    unsupported(expr.range, "`scan`");
    return SemaValue::wrong();
  }
  return SemaValue::wrong();
}

SemaValue Sema::theOnly(const std::vector<SemaValue> &values, const Expr &expr) {
  if (values.size() == 1)
    return values.front();
  if (!values.front().isError())
    error(DiagCode::SeveralValues, expr.range,
          "this gives " + llvm::Twine(values.size()) + " values, where one is needed")
        .help("name them before: `let a, b = …`");
  return SemaValue::wrong();
}

std::vector<SemaValue> Sema::evalSeveral(const Expr &expr) {
  if (auto *choice = llvm::dyn_cast<IfExpr>(&expr)) {
    std::optional<bool> condition = evalCondition(*choice->condition);
    if (!condition)
      return {SemaValue::wrong()};
    return evalSeveral(*condition ? *choice->thenValue : *choice->elseValue);
  }
  if (auto *tuple = llvm::dyn_cast<TupleExpr>(&expr)) {
    std::vector<SemaValue> values;
    for (const ExprPtr &element : tuple->elements)
      values.push_back(eval(*element));
    bool isWrong = llvm::any_of(values, [](const SemaValue &value) { return value.isError(); });
    return isWrong ? std::vector{SemaValue::wrong()} : values;
  }
  if (auto *attend = llvm::dyn_cast<AttendExpr>(&expr))
    return evalAttend(*attend);
  auto *call = llvm::dyn_cast<CallExpr>(&expr);
  auto *callee = call ? llvm::dyn_cast<PathExpr>(call->callee.get()) : nullptr;
  if (Decl *cache = pushedTo(expr)) {
    cache->used = true;
    error(DiagCode::CachePush, expr.range, "this does not say along which axis it pushes")
        .help("write `let k, v = " + source.text(expr.range).str() + " along T as S`");
    return {SemaValue::wrong(), SemaValue::wrong()};
  }
  Decl *decl = callee ? scope->find(callee->path.str()) : nullptr;
  if (!decl || (decl->kind != Decl::Kind::Block && decl->kind != Decl::Kind::Part))
    return {eval(expr)};
  decl->used = true;
  return decl->kind == Decl::Kind::Part ? applyPart(*decl, *call) : applyBlock(*decl, *call);
}

mlir::Value Sema::evalTensor(const Expr &expr, const llvm::Twine &what, bool anyElement) {
  std::string text = what.str();
  SemaValue value = eval(expr);
  if (value.isNumber())
    error(DiagCode::TensorExpected, expr.range, text + " must be a tensor, but this is a number");
  bool fits = value.isTensor() && (anyElement || isCalculable(value.tensor, expr.range));
  return fits ? value.tensor : mlir::Value();
}

std::optional<double> Sema::evalNumber(const Expr &expr, const llvm::Twine &what) {
  std::string text = what.str();
  SemaValue value = eval(expr);
  if (value.isTensor())
    error(DiagCode::NumberExpected, expr.range, text + " must be a number, but this is a tensor")
        .says("this is " + showAxes(axesOfValue(value.tensor)));
  return value.isNumber() ? std::optional<double>(value.number) : std::nullopt;
}

SemaValue Sema::evalPath(const PathExpr &path) {
  if (isConfig(path)) {
    std::optional<double> number = configNumber(path);
    return number ? SemaValue::of(*number) : SemaValue::wrong();
  }
  std::string name = path.path.str();
  Decl *decl = scope->find(name);
  if (!decl) {
    Diagnostic &diagnostic =
        error(DiagCode::UnknownName, path.range, "there is no `" + name + "` here");
    if (auto later = namedLater.find(name); later != namedLater.end())
      diagnostic.at(later->second, "it is named only here");
    else
      suggest(diagnostic, name);
    if (diagnostic.helps.empty())
      diagnostic.note("a value is a parameter of the block or entry, a `let`, a `param` or a dim");
    return SemaValue::wrong();
  }
  decl->used = true;
  switch (decl->kind) {
  case Decl::Kind::Value:
    if (decl->value.isCache()) {
      error(DiagCode::CacheExpected, path.range, "`" + name + "` is a cache, and no tensor")
          .at(decl->range, "declared here")
          .help("push to it: `let k, v = " + name +
                ".push(k, v) along T as S`, or pass it to a "
                "block that takes one");
      return SemaValue::wrong();
    }
    return decl->value.isTensor() ? SemaValue::of(here(decl->value.tensor)) : decl->value;
  case Decl::Kind::Static:
    return atHome(*decl, [&](const Expr &expr) { return eval(expr); });
  case Decl::Kind::Param:
    if (decl->wrong)
      return SemaValue::wrong();
    return SemaValue::of(getParam(decl->weight, locate(path.range, name)));
  case Decl::Kind::Table:
    return tableValue(*decl, path.range);
  case Decl::Kind::Dim: {
    Size size = sizeOf(*decl);
    if (size.error)
      return SemaValue::wrong();
    if (decl->dynamic || !size.isStatic()) {
      error(DiagCode::NotAValue, path.range,
            "`" + name + "` is known only when running, and cannot be calculated with")
          .at(decl->range, "declared here");
      return SemaValue::wrong();
    }
    return SemaValue::of(static_cast<double>(size.offset));
  }
  case Decl::Kind::Unsupported:
    return SemaValue::wrong();
  default: {
    if (decl->clashing)
      return SemaValue::wrong();
    Diagnostic &diagnostic =
        error(DiagCode::NotAValue, path.range, "`" + name + "` is no value by itself");
    diagnostic.at(decl->range, "declared here");
    if (decl->kind == Decl::Kind::Linear || decl->kind == Decl::Kind::Norm ||
        decl->kind == Decl::Kind::Embedding || decl->kind == Decl::Kind::Stack ||
        decl->kind == Decl::Kind::Part)
      diagnostic.help("apply it: `" + name + "(x)`");
    return SemaValue::wrong();
  }
  }
}

SemaValue Sema::evalIf(const IfExpr &choice) {
  std::optional<bool> condition = evalCondition(*choice.condition);
  if (!condition)
    return SemaValue::wrong();
  return eval(*condition ? *choice.thenValue : *choice.elseValue);
}

SemaValue Sema::evalUnary(const UnaryExpr &unary) {
  if (unary.op == UnaryOp::Not) {
    unsupported(unary.range, "`not` of values");
    return SemaValue::wrong();
  }
  SemaValue value = eval(*unary.operand);
  if (value.isNumber())
    return SemaValue::of(-value.number);
  if (!value.isTensor())
    return value;
  if (!isCalculable(value.tensor, unary.operand->range))
    return SemaValue::wrong();
  return SemaValue::of(makeMap({value.tensor}, axesOfValue(value.tensor), locate(unary.range),
                               [&](mlir::OpBuilder &b, Location loc, mlir::ValueRange x) {
                                 loc = inWords(loc, "-" + sideWords(*unary.operand));
                                 return mlir::arith::NegFOp::create(b, loc, x[0]).getResult();
                               }));
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

static mlir::Value scalarOp(mlir::OpBuilder &b, Location loc, BinaryOp op, mlir::Value x,
                            mlir::Value y) {
  switch (op) {
  case BinaryOp::Add:
    return mlir::arith::AddFOp::create(b, loc, x, y);
  case BinaryOp::Subtract:
    return mlir::arith::SubFOp::create(b, loc, x, y);
  case BinaryOp::Multiply:
    return mlir::arith::MulFOp::create(b, loc, x, y);
  default:
    return mlir::arith::DivFOp::create(b, loc, x, y);
  }
}

SemaValue Sema::evalBinary(const BinaryExpr &binary) {
  if (binary.op == BinaryOp::Coalesce) {
    if (!isConfig(*binary.left)) {
      error(DiagCode::NotASize, binary.left->range,
            "the left side of `??` is a value of the configuration, `config.name`");
      return SemaValue::wrong();
    }
    bool present = configValue(*llvm::cast<PathExpr>(binary.left.get()));
    return configFailed ? SemaValue::wrong() : eval(present ? *binary.left : *binary.right);
  }
  SemaValue left = eval(*binary.left), right = eval(*binary.right);
  if (left.isError() || right.isError())
    return SemaValue::wrong();
  if (left.isNumber() && right.isNumber()) {
    if (std::optional<double> value = foldNumbers(binary.op, left.number, right.number);
        value && std::isfinite(*value))
      return SemaValue::of(*value);
    else if (value)
      error(DiagCode::NumberExpected, binary.range, "the result is no finite number");
    else
      unsupported(binary.opRange, "`" + spelling(binary.op) + "` outside of a condition");
    return SemaValue::wrong();
  }
  bool arithmetic = binary.op == BinaryOp::Add || binary.op == BinaryOp::Subtract ||
                    binary.op == BinaryOp::Multiply || binary.op == BinaryOp::Divide;
  if (!arithmetic) {
    unsupported(binary.opRange, "`" + spelling(binary.op) + "` of tensors");
    return SemaValue::wrong();
  }
  bool calculable = !left.isTensor() || isCalculable(left.tensor, binary.left->range);
  calculable &= !right.isTensor() || isCalculable(right.tensor, binary.right->range);
  if (!calculable)
    return SemaValue::wrong();
  Location loc = locate(binary.range);
  std::string words =
      sideWords(*binary.left) + " " + spelling(binary.op).str() + " " + sideWords(*binary.right);
  if (left.isNumber() || right.isNumber()) {
    mlir::Value tensor = left.isTensor() ? left.tensor : right.tensor;
    return SemaValue::of(makeMap({tensor}, axesOfValue(tensor), loc,
                                 [&](mlir::OpBuilder &b, Location l, mlir::ValueRange x) {
                                   l = inWords(l, words);
                                   mlir::Value lhs =
                                       left.isTensor() ? x[0] : constantOf(b, l, left.number);
                                   mlir::Value rhs =
                                       right.isTensor() ? x[0] : constantOf(b, l, right.number);
                                   return scalarOp(b, l, binary.op, lhs, rhs);
                                 }));
  }
  Axes a = axesOfValue(left.tensor), b = axesOfValue(right.tensor);
  const Axes &more = b.size() > a.size() ? b : a, &fewer = b.size() > a.size() ? a : b;
  for (const Axis &axis : fewer) {
    int at = findAxis(more, axis.name);
    if (at >= 0 && more[at] == axis)
      continue;
    Diagnostic &diagnostic =
        error(DiagCode::ElementwiseMismatch, binary.range,
              "the sides of `" + spelling(binary.op) + "` have different axes");
    diagnostic.at(binary.left->range, "this is " + showAxes(a))
        .at(binary.right->range, "this is " + showAxes(b))
        .note("axes are matched by name, and one side has all the axes of the other");
    noteSameNames(diagnostic, a, b);
    if (std::string where =
            whereSizes(more) + (whereSizes({axis}).empty() ? "" : ", ") + whereSizes({axis});
        !where.empty())
      diagnostic.note(where);
    return SemaValue::wrong();
  }
  return SemaValue::of(makeMap({left.tensor, right.tensor}, more, loc,
                               [&](mlir::OpBuilder &inner, Location l, mlir::ValueRange x) {
                                 return scalarOp(inner, inWords(l, words), binary.op, x[0], x[1]);
                               }));
}

} // namespace attn::frontend
