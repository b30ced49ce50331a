// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The functions of the language that work element by element, and the table of all.
#include "compiler/frontend/sema/expressions/Functions.h"
#include "compiler/frontend/sema/Names.h"
#include "compiler/frontend/sema/expressions/Apply.h"
#include "compiler/frontend/sema/expressions/Elementwise.h"
#include "compiler/frontend/sema/expressions/Exprs.h"
#include "compiler/frontend/sema/functions/Cuts.h"
#include "compiler/frontend/sema/functions/Lookups.h"
#include "compiler/frontend/sema/functions/Pick.h"
#include "compiler/frontend/sema/functions/Rearrange.h"
#include "compiler/frontend/sema/functions/Reduce.h"
#include "compiler/frontend/sema/functions/Resize.h"
#include "compiler/frontend/sema/functions/Rotary.h"
#include "compiler/frontend/sema/functions/Routes.h"
#include "compiler/frontend/sema/functions/Split.h"
#include "compiler/frontend/sema/functions/Windows.h"
#include "compiler/frontend/sema/sizes/Axes.h"
#include "compiler/frontend/sema/sizes/Tensors.h"
#include "compiler/frontend/sema/sizes/Types.h"
#include "compiler/frontend/syntax/ForeignWords.h"
#include "dialect/Locations.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Remarks.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>

namespace attn::frontend {

using namespace ast;
using mlir::Location;

namespace {
struct MathFunction {
  llvm::StringLiteral name;
  mlir::Value (*build)(mlir::OpBuilder &, Location, mlir::Value);
  double (*fold)(double);
};
} // namespace

static mlir::Value buildSigmoid(mlir::OpBuilder &b, Location loc, mlir::Value x) {
  mlir::Value one = constantOf(b, loc, 1);
  mlir::Value e = mlir::math::ExpOp::create(b, loc, mlir::arith::NegFOp::create(b, loc, x));
  return mlir::arith::DivFOp::create(b, loc, one, mlir::arith::AddFOp::create(b, loc, one, e));
}

/// 0.5 x (1 + f)
static mlir::Value halfGate(mlir::OpBuilder &b, Location loc, mlir::Value x, mlir::Value f) {
  mlir::Value half = mlir::arith::MulFOp::create(b, loc, constantOf(b, loc, 0.5), x);
  mlir::Value gate = mlir::arith::AddFOp::create(b, loc, constantOf(b, loc, 1), f);
  return mlir::arith::MulFOp::create(b, loc, half, gate);
}

/// Hendrycks & Gimpel 2016: x P(X <= x), exactly.
static mlir::Value buildGelu(mlir::OpBuilder &b, Location loc, mlir::Value x) {
  mlir::Value scaled =
      mlir::arith::MulFOp::create(b, loc, x, constantOf(b, loc, 0.70710678118654752440));
  return halfGate(b, loc, x, mlir::math::ErfOp::create(b, loc, scaled));
}

/// The same paper's approximation by tanh.
static mlir::Value buildGeluTanh(mlir::OpBuilder &b, Location loc, mlir::Value x) {
  mlir::Value square = mlir::arith::MulFOp::create(b, loc, x, x);
  mlir::Value cube = mlir::arith::MulFOp::create(b, loc, square, x);
  mlir::Value term = mlir::arith::MulFOp::create(b, loc, constantOf(b, loc, 0.044715), cube);
  mlir::Value sum = mlir::arith::AddFOp::create(b, loc, x, term);
  mlir::Value scaled =
      mlir::arith::MulFOp::create(b, loc, constantOf(b, loc, 0.79788456080286535588), sum);
  return halfGate(b, loc, x, mlir::math::TanhOp::create(b, loc, scaled));
}

static mlir::Value buildSilu(mlir::OpBuilder &b, Location loc, mlir::Value x) {
  return mlir::arith::MulFOp::create(b, loc, x, buildSigmoid(b, loc, x));
}

static mlir::Value buildRelu(mlir::OpBuilder &b, Location loc, mlir::Value x) {
  return mlir::arith::MaximumFOp::create(b, loc, x, constantOf(b, loc, 0));
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
    {"log", buildOp<mlir::math::LogOp>, [](double x) { return std::log(x); }},
    {"sin", buildOp<mlir::math::SinOp>, [](double x) { return std::sin(x); }},
    {"cos", buildOp<mlir::math::CosOp>, [](double x) { return std::cos(x); }},
};

static SemaValue callMath(Sema &sema, const CallExpr &call, llvm::StringRef name) {
  auto *function = llvm::find_if(mathFunctions, [&](auto &f) { return f.name == name; });
  if (!plainArguments(sema.report, call, name, 1, 1, (name + "(x)").str()))
    return SemaValue::wrong();
  SemaValue value = eval(sema, *call.arguments[0].value);
  if (value.isNumber()) {
    double number = function->fold(value.number);
    if (std::isfinite(number))
      return SemaValue::of(number);
    sema.report.error(DiagCode::NumberExpected, call.range,
                      "`" + name + "` of " + std::to_string(value.number) + " is no finite number");
    return SemaValue::wrong();
  }
  if (!value.isTensor())
    return value;
  mlir::Type element = elementOf(value.tensor);
  if (name == "abs" && (element.isInteger(32) || element.isInteger(64)))
    return absoluteOf(sema, call, value.tensor);
  if (!isCalculable(sema.report, value.tensor, call.arguments[0].value->range))
    return SemaValue::wrong();
  return SemaValue::of(makeMap(sema, {value.tensor}, axesOfValue(value.tensor),
                               locate(sema, call.range),
                               [&](mlir::OpBuilder &b, Location loc, mlir::ValueRange x) {
                                 return function->build(b, inWords(loc, name), x[0]);
                               }));
}

const Expr *droppedOut(Sema &sema, const CallExpr &call) {
  if (!plainArguments(sema.report, call, "dropout", 2, 2, "dropout(x, 0.1)"))
    return nullptr;
  const Expr &share = *call.arguments[1].value;
  std::optional<double> p = evalNumber(sema, share, "the part that is dropped");
  if (!p)
    return nullptr;
  if (!(*p >= 0 && *p <= 1)) {
    sema.report.error(DiagCode::NumberExpected, share.range,
                      "the part that is dropped is from 0 to 1");
    return nullptr;
  }
  if (*p != 0) {
    auto options = mlir::remark::RemarkOpts::name("Dropout").category("all targets");
    if (!sema.function.frames.empty())
      options = options.function(sema.function.frames.back().function.getSymName());
    mlir::remark::analysis(locate(sema, call.range, "dropout"), options)
        << "dropout is of training alone, and compiles to nothing";
  }
  return call.arguments[0].value.get();
}

/// Whether a call takes the extremum along axes: its first argument is the name of a size, and the
/// last no number.
static bool namesAxis(Sema &sema, const CallExpr &call) {
  if (call.arguments.size() < 2)
    return false;
  auto *first = llvm::dyn_cast<PathExpr>(call.arguments[0].value.get());
  Decl *decl = first ? sema.names.scope->find(first->path.str()) : nullptr;
  const Expr &last = *call.arguments.back().value;
  auto *second = llvm::dyn_cast<PathExpr>(&last);
  Decl *other = second ? sema.names.scope->find(second->path.str()) : nullptr;
  return decl && decl->kind == Decl::Kind::Dim && !(other && other->kind == Decl::Kind::Dim) &&
         !llvm::isa<IntegerExpr, FloatExpr>(last);
}

static SemaValue callDropout(Sema &sema, const CallExpr &call) {
  const Expr *kept = droppedOut(sema, call);
  mlir::Value value =
      kept ? evalTensor(sema, *kept, "what `dropout` is applied to") : mlir::Value();
  return value ? SemaValue::of(value) : SemaValue::wrong();
}

/// Functions that others look for, and what says the same here.
static constexpr std::pair<llvm::StringLiteral, llvm::StringLiteral> elsewhere[] = {
    {"zeros", "a tensor of zeros is `x * 0`, and a scan begins `from zeros`"},
    {"greedy", "write `entry generate = unfold(prefill, decode, limit = 256)`"},
    {"unit", "write `x * rsqrt(sum(D, x * x))`; in a score, `unit(q)` is there"},
    {"dot", "write `sum(D, a * b)`; in a score, `dot(q, k)` is there"}};

static SemaValue callElsewhere(Sema &sema, const CallExpr &call, llvm::StringRef name) {
  auto *known = llvm::find_if(elsewhere, [&](auto &function) { return function.first == name; });
  sema.report
      .error(DiagCode::NotAFunction, call.callee->range, "`" + name + "` is no function of tensors")
      .help(known->second);
  return SemaValue::wrong();
}

/// Functions that are no maps of one tensor, in the order in which they are listed.
static constexpr std::pair<llvm::StringLiteral, SemaValue (*)(Sema &, const CallExpr &)>
    builtins[] = {
        {"split", callSplit},
        {"pack", callPack},
        {"first", [](Sema &sema, const CallExpr &call) { return callEnd(sema, call, "first"); }},
        {"last", [](Sema &sema, const CallExpr &call) { return callEnd(sema, call, "last"); }},
        {"mean",
         [](Sema &sema, const CallExpr &call) {
           bool isWhere = call.arguments.size() == 2 && call.arguments[1].where;
           return isWhere ? callMeanWhere(sema, call) : callReduce(sema, call, Reduction::Mean);
         }},
        {"sum",
         [](Sema &sema, const CallExpr &call) { return callReduce(sema, call, Reduction::Sum); }},
        {"argmax", [](Sema &sema,
                      const CallExpr &call) { return callReduce(sema, call, Reduction::ArgMax); }},
        {"softmax", callSoftmax},
        {"topk",
         [](Sema &sema, const CallExpr &call) {
           return theOnly(sema.report, callTopk(sema, call), call);
         }},
        {"pad", callPad},
        {"windows", callWindows},
        {"relabel", callRelabel},
        {"repeat", callRepeat},
        {"positions", callPositions},
        {"rotary", callRotary},
        {"resize", callResize},
        {"dropout", callDropout},
        {"slice", callSlice},
        {"unpack",
         [](Sema &sema, const CallExpr &call) {
           return theOnly(sema.report, callUnpack(sema, call), call);
         }},
        {"roll", callRoll},
        {"route", callRoute},
        {"pick", callPick},
        {"min",
         [](Sema &sema, const CallExpr &call) {
           return namesAxis(sema, call) ? callReduce(sema, call, Reduction::Min)
                                        : callExtremum(sema, call, "min");
         }},
        {"max",
         [](Sema &sema, const CallExpr &call) {
           return namesAxis(sema, call) ? callReduce(sema, call, Reduction::Max)
                                        : callExtremum(sema, call, "max");
         }},
        {"clamp", callClamp},
        {"floor", callFloor},
        {"float",
         [](Sema &sema, const CallExpr &call) { return callConversion(sema, call, "float"); }},
        {"int", [](Sema &sema, const CallExpr &call) { return callConversion(sema, call, "int"); }},
};

std::vector<llvm::StringRef> functionNames() {
  std::vector<llvm::StringRef> functions;
  for (auto [function, build] : builtins)
    functions.push_back(function);
  for (const MathFunction &function : mathFunctions)
    functions.push_back(function.name);
  return functions;
}

SemaValue callBuiltin(Sema &sema, const CallExpr &call, llvm::StringRef name) {
  if (llvm::any_of(mathFunctions, [&](auto &f) { return f.name == name; }))
    return callMath(sema, call, name);
  for (auto [function, build] : builtins)
    if (function == name)
      return build(sema, call);
  if (llvm::any_of(elsewhere, [&](auto &function) { return function.first == name; }))
    return callElsewhere(sema, call, name);
  Diagnostic &diagnostic = sema.report.error(DiagCode::UnknownName, call.callee->range,
                                             "there is no `" + name + "` to apply");
  suggest(sema, diagnostic, name, [](const Decl &decl) {
    return decl.kind == Decl::Kind::Linear || decl.kind == Decl::Kind::Norm ||
           decl.kind == Decl::Kind::Embedding || decl.kind == Decl::Kind::Stack;
  });
  // `F.gelu`, `self.norm1`: what stands before the last dot has no meaning here.
  llvm::StringRef own = name.substr(name.rfind('.') + 1);
  if (diagnostic.helps.empty() && own != name)
    suggest(sema, diagnostic, own, [](const Decl &decl) {
      return decl.kind == Decl::Kind::Linear || decl.kind == Decl::Kind::Norm ||
             decl.kind == Decl::Kind::Embedding || decl.kind == Decl::Kind::Stack;
    });
  if (diagnostic.helps.empty()) {
    std::vector<llvm::StringRef> functions = functionNames();
    auto near = nearestName(own, functions);
    bool isForeign = !adviceFor(ForeignPlace::Function, name).text.empty();
    if (near && (!isForeign || plainSpelling(*near) == plainSpelling(own)))
      diagnostic.didYouMean(*near);
    else if (!advise(diagnostic, ForeignPlace::Function, name))
      diagnostic.note("the functions are " + llvm::join(functions, ", "));
  }
  return SemaValue::wrong();
}

} // namespace attn::frontend
