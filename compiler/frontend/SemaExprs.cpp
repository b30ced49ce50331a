// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expressions -> ops. Application lifts over the axes that an arrow does not name; operators match
// axes by name.
#include "compiler/frontend/SemaImpl.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>

namespace attn::frontend {

using namespace ast;
using mlir::Location;

Location Sema::locate(SourceRange range, llvm::StringRef name) {
  LineColumn place = source.lineAndColumn(range.begin);
  auto file = mlir::FileLineColLoc::get(&mlirContext, source.name(), place.line, place.column);
  if (name.empty())
    return file;
  return mlir::NameLoc::get(mlir::StringAttr::get(&mlirContext, name), file);
}

mlir::RankedTensorType Sema::tensorType(llvm::ArrayRef<Axis> axes, SourceRange range) {
  llvm::SmallVector<int64_t> shape, bounds;
  llvm::SmallVector<mlir::StringAttr> names;
  for (const Axis &axis : axes) {
    shape.push_back(axis.size);
    names.push_back(mlir::StringAttr::get(&mlirContext, axis.name));
    int64_t bound = axis.size;
    if (axis.isDynamic()) {
      auto size = parseLinearSize(axis.name);
      auto it = size ? modelScope.names.find(size->dim) : modelScope.names.end();
      bound =
          it == modelScope.names.end()
              ? 1
              : std::max<int64_t>(
                    1, productOf({size->scale, it->second->size.offset}).value_or(INT64_MAX / 2));
    }
    bounds.push_back(bound);
  }
  if (!productOf(bounds)) {
    Diagnostic &diagnostic = error(DiagCode::SizeOverflow, range,
                                   "a tensor of " + showAxes(axes) + " has too many elements");
    diagnostic.note("the most are 2^48");
    if (std::string where = whereSizes(axes); !where.empty())
      diagnostic.note(where);
    return nullptr;
  }
  return axesTensor(mlir::Float32Type::get(&mlirContext), shape, names);
}

//===------------------------------------------------------------------------------------------===//
// Shapes
//===------------------------------------------------------------------------------------------===//

mlir::Value Sema::permute(mlir::Value value, llvm::ArrayRef<int64_t> order, Location loc) {
  if (llvm::is_sorted(order))
    return value;
  Axes axes = axesOfValue(value), result;
  llvm::SmallVector<int64_t> ones(axes.size(), 1), atoms;
  for (const Axis &axis : axes)
    atoms.push_back(axis.isDynamic() ? -1 : axis.size);
  for (int64_t from : order)
    result.push_back(axes[from]);
  return RearrangeOp::create(builder, loc, tensorType(result, {}), value, ones, atoms, order, ones);
}

mlir::Value Sema::relabel(mlir::Value value, llvm::ArrayRef<Axis> axes, Location loc) {
  mlir::RankedTensorType type = tensorType(axes, {});
  if (!type || type == value.getType())
    return value;
  return RelabelOp::create(builder, loc, type, value);
}

mlir::Value Sema::withLast(mlir::Value value, llvm::ArrayRef<Axis> taken, Location loc) {
  Axes axes = axesOfValue(value);
  llvm::SmallVector<int64_t> order;
  for (size_t i = 0; i < axes.size(); ++i)
    if (findAxis(taken, axes[i].name) < 0)
      order.push_back(i);
  for (const Axis &axis : taken) {
    int at = findAxis(axes, axis.name);
    if (at < 0 || axes[at].size != axis.size)
      return nullptr;
    order.push_back(at);
  }
  return permute(value, order, loc);
}

mlir::Value Sema::makeMap(llvm::ArrayRef<mlir::Value> inputs, llvm::ArrayRef<Axis> axes,
                          Location loc, ScalarBody body) {
  mlir::RankedTensorType type = tensorType(axes, {});
  auto op = MapOp::create(builder, loc, type, inputs);
  mlir::Block &block = op.getBody().emplaceBlock();
  for (mlir::Value input : inputs)
    block.addArgument(llvm::cast<mlir::RankedTensorType>(input.getType()).getElementType(), loc);
  mlir::OpBuilder inner(&mlirContext);
  inner.setInsertionPointToEnd(&block);
  YieldOp::create(inner, loc, body(inner, loc, block.getArguments()));
  return op;
}

//===------------------------------------------------------------------------------------------===//
// Expressions
//===------------------------------------------------------------------------------------------===//

SemaValue Sema::eval(const Expr &expr) {
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
    return evalAttend(llvm::cast<AttendExpr>(expr));
  case Expr::Kind::String:
    error(DiagCode::NotAValue, expr.range, "a string is no value")
        .note("strings name tensors and the axes of `split`");
    return SemaValue::wrong();
  case Expr::Kind::Index:
    unsupported(expr.range, "indexing a tensor");
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

mlir::Value Sema::evalTensor(const Expr &expr, const llvm::Twine &what) {
  std::string text = what.str();
  SemaValue value = eval(expr);
  if (value.isNumber())
    error(DiagCode::TensorExpected, expr.range, text + " must be a tensor, but this is a number");
  return value.isTensor() ? value.tensor : mlir::Value();
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
    suggest(diagnostic, name);
    return SemaValue::wrong();
  }
  decl->used = true;
  switch (decl->kind) {
  case Decl::Kind::Value:
    return decl->value;
  case Decl::Kind::Param:
    if (decl->wrong)
      return SemaValue::wrong();
    return SemaValue::of(getParam(decl->weight, locate(path.range, name)));
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
    Diagnostic &diagnostic =
        error(DiagCode::NotAValue, path.range, "`" + name + "` is no value by itself");
    diagnostic.at(decl->range, "declared here");
    if (decl->kind == Decl::Kind::Linear || decl->kind == Decl::Kind::Norm ||
        decl->kind == Decl::Kind::Stack)
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

static mlir::Value constant(mlir::OpBuilder &b, Location loc, double value) {
  return mlir::arith::ConstantOp::create(b, loc, b.getF32FloatAttr(static_cast<float>(value)));
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
  return SemaValue::of(makeMap({value.tensor}, axesOfValue(value.tensor), locate(unary.range),
                               [](mlir::OpBuilder &b, Location loc, mlir::ValueRange x) {
                                 return mlir::arith::NegFOp::create(b, loc, x[0]).getResult();
                               }));
}

static std::optional<double> fold(BinaryOp op, double a, double b) {
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
    return std::fmod(a, b);
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
    if (std::optional<double> value = fold(binary.op, left.number, right.number);
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
  Location loc = locate(binary.range);
  if (left.isNumber() || right.isNumber()) {
    mlir::Value tensor = left.isTensor() ? left.tensor : right.tensor;
    return SemaValue::of(makeMap({tensor}, axesOfValue(tensor), loc,
                                 [&](mlir::OpBuilder &b, Location l, mlir::ValueRange x) {
                                   mlir::Value lhs =
                                       left.isTensor() ? x[0] : constant(b, l, left.number);
                                   mlir::Value rhs =
                                       right.isTensor() ? x[0] : constant(b, l, right.number);
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
    if (std::string where =
            whereSizes(more) + (whereSizes({axis}).empty() ? "" : ", ") + whereSizes({axis});
        !where.empty())
      diagnostic.note(where);
    return SemaValue::wrong();
  }
  return SemaValue::of(makeMap({left.tensor, right.tensor}, more, loc,
                               [&](mlir::OpBuilder &inner, Location l, mlir::ValueRange x) {
                                 return scalarOp(inner, l, binary.op, x[0], x[1]);
                               }));
}

//===------------------------------------------------------------------------------------------===//
// Application
//===------------------------------------------------------------------------------------------===//

bool Sema::plainArguments(const CallExpr &call, llvm::StringRef name, unsigned least, unsigned most,
                          llvm::StringRef usage) {
  for (const Argument &argument : call.arguments)
    if (argument.name || argument.by) {
      error(DiagCode::WrongArguments, argument.value->range,
            "`" + name + "` takes no named arguments")
          .help("write `" + usage + "`");
      return false;
    }
  if (call.arguments.size() >= least && call.arguments.size() <= most)
    return true;
  std::string wanted = least == most ? std::to_string(least)
                       : most == ~0u ? "at least " + std::to_string(least)
                                     : std::to_string(least) + " to " + std::to_string(most);
  error(DiagCode::WrongArguments, call.range,
        "`" + name + "` takes " + wanted + (wanted == "1" ? " argument" : " arguments") +
            ", but gets " + llvm::Twine(call.arguments.size()))
      .help("write `" + usage + "`");
  return false;
}

mlir::Value Sema::theArgument(const CallExpr &call, llvm::StringRef name) {
  if (!plainArguments(call, name, 1, 1, (name + "(x)").str()))
    return nullptr;
  return evalTensor(*call.arguments[0].value, "what `" + name + "` is applied to");
}

SemaValue Sema::evalCall(const CallExpr &call) {
  auto *callee = llvm::dyn_cast<PathExpr>(call.callee.get());
  if (!callee) {
    if (!llvm::isa<ErrorExpr>(*call.callee))
      error(DiagCode::NotAFunction, call.callee->range, "this cannot be applied")
          .note("what is applied is a name: a linear map, a norm, a stack or a function");
    return SemaValue::wrong();
  }
  std::string name = callee->path.str();
  Decl *decl = scope->find(name);
  if (!decl)
    return callBuiltin(call, name);
  decl->used = true;
  switch (decl->kind) {
  case Decl::Kind::Linear:
    return applyLinear(*decl, call);
  case Decl::Kind::Norm:
    return applyNorm(*decl, call);
  case Decl::Kind::Stack:
    return applyStack(*decl, call);
  case Decl::Kind::Block:
    return applyBlock(*decl, call);
  case Decl::Kind::Unsupported:
    return SemaValue::wrong();
  case Decl::Kind::Value:
    if (decl->value.isError())
      return SemaValue::wrong();
    [[fallthrough]];
  default:
    error(DiagCode::NotAFunction, callee->range, "`" + name + "` cannot be applied")
        .at(decl->range, "declared here")
        .note("what is applied is a linear map, a norm, a stack or a function");
    return SemaValue::wrong();
  }
}

SemaValue Sema::applyLinear(Decl &decl, const CallExpr &call) {
  mlir::Value input = theArgument(call, decl.name);
  if (!input || decl.wrong)
    return SemaValue::wrong();
  auto &linear = *llvm::cast<LinearDecl>(decl.item);
  Location loc = locate(call.range, decl.name);
  Axes axes = axesOfValue(input);
  mlir::Value ready = withLast(input, decl.from, loc);
  if (!ready) {
    size_t taken = std::min(decl.from.size(), axes.size());
    llvm::ArrayRef<Axis> got = llvm::ArrayRef<Axis>(axes).take_back(taken);
    Diagnostic &diagnostic =
        error(DiagCode::LinearAxes, call.arguments[0].value->range,
              "`" + decl.name + "` takes " + (decl.from.size() == 1 ? "axis " : "axes ") +
                  listAxes(decl.from) + " but gets " + listAxes(got));
    diagnostic.says("this is " + showAxes(axes));
    SourceRange arrow = linear.from.front()->range.to(linear.from.back()->range);
    diagnostic.at(arrow, "declared here");
    Axes both = decl.from;
    llvm::append_range(both, got);
    if (std::string where = whereSizes(both); !where.empty())
      diagnostic.note(where);
    if (taken == decl.from.size())
      diagnostic.help("write `linear " + decl.name + ": " + listAxes(got) + " -> " +
                      listAxes(decl.to) + (linear.bias ? " bias`" : "`"));
    return SemaValue::wrong();
  }
  Axes result = axesOfValue(ready);
  result.resize(result.size() - decl.from.size());
  for (const Axis &axis : decl.to) {
    if (findAxis(result, axis.name) >= 0) {
      error(DiagCode::DuplicateAxis, call.range,
            "the result of `" + decl.name + "` would have the axis `" + axis.name + "` twice")
          .at(call.arguments[0].value->range, "this is " + showAxes(axes))
          .at(decl.range, "gives " + listAxes(decl.to));
      return SemaValue::wrong();
    }
    result.push_back(axis);
  }
  mlir::RankedTensorType type = tensorType(result, call.range);
  if (!type)
    return SemaValue::wrong();
  mlir::Value weight = getParam(decl.weight, loc);
  llvm::SmallVector<mlir::Value, 1> bias;
  if (decl.bias.type)
    bias.push_back(getParam(decl.bias, loc));
  auto op = LinearOp::create(builder, loc, type, ready, mlir::ValueRange(weight), bias,
                             mlir::ValueRange(), mlir::ValueRange(),
                             builder.getI64IntegerAttr(decl.from.size()), mlir::FloatAttr());
  return SemaValue::of(op.getResult());
}

SemaValue Sema::applyNorm(Decl &decl, const CallExpr &call) {
  mlir::Value input = theArgument(call, decl.name);
  if (!input || decl.wrong)
    return SemaValue::wrong();
  Location loc = locate(call.range, decl.name);
  mlir::Value ready = withLast(input, decl.from, loc);
  if (!ready) {
    Axes axes = axesOfValue(input), both = decl.from;
    llvm::append_range(both, axes);
    Diagnostic &diagnostic =
        error(DiagCode::NormAxes, call.arguments[0].value->range,
              "`" + decl.name + "` is over " + listAxes(decl.from) + " but gets " + showAxes(axes));
    diagnostic.at(decl.range, "declared here");
    if (std::string where = whereSizes(both); !where.empty())
      diagnostic.note(where);
    return SemaValue::wrong();
  }
  auto op = LayerNormOp::create(builder, loc, ready.getType(), ready, getParam(decl.weight, loc),
                                getParam(decl.bias, loc), builder.getF64FloatAttr(decl.eps));
  return SemaValue::of(op.getResult());
}

//===------------------------------------------------------------------------------------------===//
// Functions of the language
//===------------------------------------------------------------------------------------------===//

namespace {
struct MathFunction {
  llvm::StringLiteral name;
  mlir::Value (*build)(mlir::OpBuilder &, Location, mlir::Value);
  double (*fold)(double);
};
} // namespace

static mlir::Value buildSigmoid(mlir::OpBuilder &b, Location loc, mlir::Value x) {
  mlir::Value one = constant(b, loc, 1);
  mlir::Value e = mlir::math::ExpOp::create(b, loc, mlir::arith::NegFOp::create(b, loc, x));
  return mlir::arith::DivFOp::create(b, loc, one, mlir::arith::AddFOp::create(b, loc, one, e));
}

/// 0.5 x (1 + f)
static mlir::Value halfGate(mlir::OpBuilder &b, Location loc, mlir::Value x, mlir::Value f) {
  mlir::Value half = mlir::arith::MulFOp::create(b, loc, constant(b, loc, 0.5), x);
  mlir::Value gate = mlir::arith::AddFOp::create(b, loc, constant(b, loc, 1), f);
  return mlir::arith::MulFOp::create(b, loc, half, gate);
}

/// Hendrycks & Gimpel 2016: x P(X <= x), exactly.
static mlir::Value buildGelu(mlir::OpBuilder &b, Location loc, mlir::Value x) {
  mlir::Value scaled =
      mlir::arith::MulFOp::create(b, loc, x, constant(b, loc, 0.70710678118654752440));
  return halfGate(b, loc, x, mlir::math::ErfOp::create(b, loc, scaled));
}

/// The same paper's approximation by tanh.
static mlir::Value buildGeluTanh(mlir::OpBuilder &b, Location loc, mlir::Value x) {
  mlir::Value square = mlir::arith::MulFOp::create(b, loc, x, x);
  mlir::Value cube = mlir::arith::MulFOp::create(b, loc, square, x);
  mlir::Value term = mlir::arith::MulFOp::create(b, loc, constant(b, loc, 0.044715), cube);
  mlir::Value sum = mlir::arith::AddFOp::create(b, loc, x, term);
  mlir::Value scaled =
      mlir::arith::MulFOp::create(b, loc, constant(b, loc, 0.79788456080286535588), sum);
  return halfGate(b, loc, x, mlir::math::TanhOp::create(b, loc, scaled));
}

static mlir::Value buildSilu(mlir::OpBuilder &b, Location loc, mlir::Value x) {
  return mlir::arith::MulFOp::create(b, loc, x, buildSigmoid(b, loc, x));
}

static mlir::Value buildRelu(mlir::OpBuilder &b, Location loc, mlir::Value x) {
  return mlir::arith::MaximumFOp::create(b, loc, x, constant(b, loc, 0));
}

template <typename OpT>
static mlir::Value buildOp(mlir::OpBuilder &b, Location loc, mlir::Value x) {
  return OpT::create(b, loc, x);
}

static double sigmoid(double x) { return 1 / (1 + std::exp(-x)); }

static const MathFunction mathFunctions[] = {
    {"gelu", buildGelu, [](double x) { return 0.5 * x * (1 + std::erf(x * std::sqrt(0.5))); }},
    {"gelu_tanh", buildGeluTanh,
     [](double x) {
       return 0.5 * x * (1 + std::tanh(0.79788456080286535588 * (x + 0.044715 * x * x * x)));
     }},
    {"relu", buildRelu, [](double x) { return x > 0 ? x : 0; }},
    {"silu", buildSilu, [](double x) { return x * sigmoid(x); }},
    {"tanh", buildOp<mlir::math::TanhOp>, [](double x) { return std::tanh(x); }},
    {"sigmoid", buildSigmoid, sigmoid},
    {"exp", buildOp<mlir::math::ExpOp>, [](double x) { return std::exp(x); }},
    {"sqrt", buildOp<mlir::math::SqrtOp>, [](double x) { return std::sqrt(x); }},
    {"rsqrt", buildOp<mlir::math::RsqrtOp>, [](double x) { return 1 / std::sqrt(x); }},
    {"abs", buildOp<mlir::math::AbsFOp>, [](double x) { return std::fabs(x); }},
};

SemaValue Sema::callMath(const CallExpr &call, llvm::StringRef name) {
  auto *function = llvm::find_if(mathFunctions, [&](auto &f) { return f.name == name; });
  if (!plainArguments(call, name, 1, 1, (name + "(x)").str()))
    return SemaValue::wrong();
  SemaValue value = eval(*call.arguments[0].value);
  if (value.isNumber()) {
    double number = function->fold(value.number);
    if (std::isfinite(number))
      return SemaValue::of(number);
    error(DiagCode::NumberExpected, call.range,
          "`" + name + "` of " + std::to_string(value.number) + " is no finite number");
    return SemaValue::wrong();
  }
  if (!value.isTensor())
    return value;
  return SemaValue::of(makeMap({value.tensor}, axesOfValue(value.tensor), locate(call.range),
                               [&](mlir::OpBuilder &b, Location loc, mlir::ValueRange x) {
                                 return function->build(b, loc, x[0]);
                               }));
}

SemaValue Sema::callBuiltin(const CallExpr &call, llvm::StringRef name) {
  if (llvm::any_of(mathFunctions, [&](auto &f) { return f.name == name; }))
    return callMath(call, name);
  if (name == "split")
    return callSplit(call);
  if (name == "pack")
    return callPack(call);
  if (name == "first" || name == "last")
    return callEnd(call, name);
  if (name == "mean")
    return callMean(call);
  if (name == "relabel")
    return callRelabel(call);
  static constexpr llvm::StringLiteral later[] = {"roll", "positions", "zeros", "greedy", "softmax",
                                                  "unit", "log",       "sin",   "cos",    "sum",
                                                  "max",  "min",       "dot"};
  if (llvm::is_contained(later, name)) {
    unsupported(call.callee->range, "the function `" + name + "`");
    return SemaValue::wrong();
  }
  Diagnostic &diagnostic =
      error(DiagCode::UnknownName, call.callee->range, "there is no `" + name + "` to apply");
  suggest(diagnostic, name, [](const Decl &decl) {
    return decl.kind == Decl::Kind::Linear || decl.kind == Decl::Kind::Norm ||
           decl.kind == Decl::Kind::Stack;
  });
  if (diagnostic.helps.empty()) {
    std::vector<llvm::StringRef> functions = {"split", "pack", "first", "last", "mean", "relabel"};
    for (const MathFunction &function : mathFunctions)
      functions.push_back(function.name);
    if (auto near = nearestName(name, functions))
      diagnostic.help("did you mean `" + *near + "`?");
    else
      diagnostic.note("the functions are " + llvm::join(functions, ", "));
  }
  return SemaValue::wrong();
}

} // namespace attn::frontend
