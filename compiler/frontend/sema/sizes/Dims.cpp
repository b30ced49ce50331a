// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sizes. A dim's expression is computed when it is first asked for, in whole numbers: a division
// that leaves a remainder is an error.
#include "compiler/frontend/sema/sizes/Dims.h"
#include "compiler/frontend/sema/Limits.h"
#include "compiler/frontend/sema/Names.h"
#include "compiler/frontend/sema/Output.h"
#include "compiler/frontend/sema/entries/Caches.h"
#include "compiler/frontend/sema/sizes/Axes.h"
#include "compiler/frontend/sema/sizes/Config.h"
#include "compiler/frontend/sema/sizes/Statics.h"
#include "compiler/frontend/sema/sizes/Tensors.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include "llvm/Support/SaveAndRestore.h"

namespace attn::frontend {

using namespace ast;

constexpr int64_t largestSize = INT32_MAX;
constexpr unsigned deepestDims = 400;
static const Size wrongSize = Size::wrong();

void applySets(Sema &sema) {
  for (const auto &[name, value] : sema.options.sets) {
    auto it = sema.names.modelScope.names.find(name);
    Decl *decl = it == sema.names.modelScope.names.end() ? nullptr : it->second.get();
    if (!decl || decl->kind != Decl::Kind::Dim) {
      Diagnostic &diagnostic = sema.report.diagnostics.error(
          DiagCode::UnknownSet,
          llvm::formatv("--set {0}={1}: the model has no dim `{0}`", name, value).str());
      std::vector<llvm::StringRef> dims;
      for (Decl *other : sema.names.modelScope.order)
        if (other->kind == Decl::Kind::Dim)
          dims.push_back(other->name);
      if (auto near = nearestName(name, dims))
        diagnostic.didYouMean(*near);
      else if (!dims.empty())
        diagnostic.note("its dims are " + llvm::join(dims, ", "));
      continue;
    }
    if (value < 1 || value > largestSize) {
      sema.report.diagnostics.error(
          DiagCode::InvalidSet,
          llvm::formatv("--set {0}={1}: a size is from 1 to {2}", name, value, largestSize).str());
      decl->size = Size::wrong();
    } else {
      decl->size = decl->dynamic ? decl->size : Size::of(value);
      decl->size.offset = value;
    }
    decl->overridden = true;
    decl->state = Decl::State::Done;
  }
}

/// The expression of a dim. A model's dim sees the model's names, whoever asks first.
static Size evalWhereDeclared(Sema &sema, const Decl &dim) {
  llvm::SaveAndRestore scope(sema.names.scope);
  for (Scope *s = sema.names.scope; s; s = s->parent)
    if (auto it = s->names.find(dim.name); it != s->names.end() && it->second.get() == &dim)
      sema.names.scope = s;
  return evalSize(sema, *dim.expr);
}

const Size &sizeOf(Sema &sema, Decl &dim) {
  if (dim.state == Decl::State::Done)
    return dim.size;
  if (dim.state == Decl::State::Active) {
    Diagnostic &diagnostic = sema.report.error(DiagCode::CyclicDim, dim.range,
                                               "`" + dim.name + "` is defined by itself");
    for (const Decl *other :
         llvm::make_range(llvm::find(sema.sizes.computing, &dim), sema.sizes.computing.end()))
      if (other != &dim)
        diagnostic.at(other->range, "through `" + other->name + "`");
    diagnostic.help("give one of them a number");
    dim.size = Size::wrong();
    dim.state = Decl::State::Done;
    return dim.size;
  }
  if (sema.sizes.computing.size() >= deepestDims) {
    sema.report
        .error(DiagCode::NestedTooDeeply, dim.range,
               "more than " + llvm::Twine(deepestDims) + " dims need each other in a row")
        .help("declare a dim before those that need it");
    return wrongSize;
  }
  dim.state = Decl::State::Active;
  sema.sizes.computing.push_back(&dim);
  Size size = evalWhereDeclared(sema, dim);
  sema.sizes.computing.pop_back();
  if (dim.state == Decl::State::Done) // found to be cyclic
    return dim.size;
  dim.state = Decl::State::Done;
  auto wrong = [&](DiagCode code, const llvm::Twine &message) -> Diagnostic & {
    size = Size::wrong();
    return sema.report.error(code, dim.expr->range, message);
  };
  std::string value = std::to_string(size.offset);
  if (size.error)
    ;
  else if (!size.isStatic() && dim.dynamic)
    wrong(DiagCode::NotASize, "the bound of `" + dim.name + "` must be known when compiling")
        .help("write a number: `dyn " + dim.name + " <= 4096`");
  else if (size.isStatic() && size.offset < 1) {
    Diagnostic &diagnostic =
        wrong(DiagCode::SizeNotPositive, "`" + dim.name + "` has the size " + value);
    noteSizes(sema, diagnostic, *dim.expr);
    diagnostic.note("sizes are at least 1");
  } else if (size.isStatic() && size.offset > largestSize)
    wrong(DiagCode::SizeOverflow, "`" + dim.name + "` has the size " + value)
        .note("the largest size is " + llvm::Twine(largestSize));
  else if (dim.dynamic)
    size = {dim.name, 1, size.offset, false}; // for a dyn itself, the offset is the bound
  else if (!size.isStatic() && size.scale == 1 && size.offset == 0)
    size.label = dim.name; // another axis of that size
  return dim.size = size;
}

static Size evalSizeOfConfig(Sema &sema, const Expr &expr) {
  std::optional<double> number = configNumber(sema, expr);
  if (!number)
    return Size::wrong();
  if (*number ==
      static_cast<double>(static_cast<int64_t>(std::max(-1e15, std::min(1e15, *number)))))
    return Size::of(static_cast<int64_t>(*number));
  sema.report.error(DiagCode::NotASize, expr.range,
                    "`" + sema.source.text(expr.range) + "` is " +
                        llvm::formatv("{0}", *number).str() +
                        " in the configuration, and a size is a whole number");
  return Size::wrong();
}

static Size evalSizePath(Sema &sema, const PathExpr &path) {
  std::string name = path.path.str();
  Decl *decl = sema.names.scope->find(name);
  if (!decl) {
    Diagnostic &diagnostic =
        sema.report.error(DiagCode::UnknownDim, path.range, "there is no dim `" + name + "`");
    suggest(sema, diagnostic, name, [](const Decl &d) { return d.kind == Decl::Kind::Dim; });
    if (diagnostic.helps.empty())
      diagnostic.help("declare it: `dim " + name + " = 64`, or `dyn " + name +
                      " <= 64` where it is known only when running");
    return Size::wrong();
  }
  decl->used = true;
  if (decl->kind == Decl::Kind::Static) {
    ScopedHome home(sema, *decl);
    return evalSize(sema, *decl->expr);
  }
  if (decl->kind == Decl::Kind::Cache && !decl->size.error) // the positions in it
    return {decl->name, 1, 0, false};
  if (decl->kind != Decl::Kind::Dim) {
    if (!decl->clashing)
      sema.report.error(DiagCode::NotASize, path.range, "`" + name + "` is no dim")
          .at(decl->range, "declared here");
    return Size::wrong();
  }
  Size size = sizeOf(sema, *decl);
  if (!size.error && decl->dynamic)
    return {decl->name, 1, 0, false};
  return size;
}

static Size divide(Sema &sema, const BinaryExpr &binary, const Size &left, const Size &right) {
  if (!left.isStatic() || !right.isStatic()) {
    sema.report
        .error(DiagCode::NonlinearDynamicSize, binary.range,
               "a size that is known only when running cannot be divided")
        .note(llvm::Twine("`") + (left.isStatic() ? right : left).dim +
              "` is known only when running")
        .help("declare the quotient as the `dyn`, and write the product where it is needed");
    return Size::wrong();
  }
  bool remainder = binary.op == BinaryOp::Remainder;
  if (right.offset == 0) {
    sema.report
        .error(DiagCode::DivisionByZero, binary.range,
               "`" + canonicalText(binary) + "` divides by 0")
        .note(canonicalText(*binary.right) + " = 0");
    return Size::wrong();
  }
  if (left.offset == INT64_MIN && right.offset == -1)
    return Size::of(INT64_MAX);
  if (remainder) { // of the sign of the divisor
    int64_t rest = left.offset % right.offset;
    return Size::of(rest != 0 && (rest < 0) != (right.offset < 0) ? rest + right.offset : rest);
  }
  if (left.offset % right.offset != 0) {
    Diagnostic &diagnostic = sema.report.error(
        DiagCode::InexactDivision, binary.range,
        "`" + canonicalText(binary) + "` is no whole number: " + llvm::Twine(left.offset) + " / " +
            llvm::Twine(right.offset) + " leaves " + llvm::Twine(left.offset % right.offset));
    noteSizes(sema, diagnostic, binary);
    return Size::wrong();
  }
  return Size::of(left.offset / right.offset);
}

static Size overflow(Sema &sema, const BinaryExpr &binary) {
  noteSizes(sema,
            sema.report.error(DiagCode::SizeOverflow, binary.range,
                              "`" + canonicalText(binary) + "` does not fit into 64 bits"),
            binary);
  return Size::wrong();
}

static Size power(Sema &sema, const BinaryExpr &binary, const Size &left, const Size &right) {
  if (!left.isStatic() || !right.isStatic() || right.offset < 0) {
    sema.report.error(DiagCode::NotASize, binary.range,
                      "a power of sizes needs whole numbers that are known when compiling");
    return Size::wrong();
  }
  int64_t value = 1;
  for (int64_t i = 0; i < right.offset && value != 0 && (value != 1 || i == 0); ++i)
    if (llvm::MulOverflow(value, left.offset, value))
      return overflow(sema, binary);
  if (left.offset == -1 && right.offset % 2 == 0)
    value = 1;
  return Size::of(value);
}

static Size multiply(Sema &sema, const BinaryExpr &binary, Size left, Size right) {
  if (!left.isStatic() && !right.isStatic()) {
    sema.report
        .error(DiagCode::NonlinearDynamicSize, binary.range,
               "two sizes that are known only when running cannot be multiplied")
        .note("`" + left.dim + "` and `" + right.dim + "` are known only when running")
        .help("declare a `dyn` for the product");
    return Size::wrong();
  }
  if (left.isStatic())
    std::swap(left, right);
  Size result = left;
  if (llvm::MulOverflow(left.scale, right.offset, result.scale) ||
      llvm::MulOverflow(left.offset, right.offset, result.offset))
    return overflow(sema, binary);
  if (result.scale == 0)
    result.dim.clear();
  return result;
}

/// A sum, or a difference where `binary` is one.
static Size addOrSubtract(Sema &sema, const BinaryExpr &binary, const Size &left,
                          const Size &right) {
  if (!left.isStatic() && !right.isStatic() && left.dim != right.dim) {
    sema.report.error(DiagCode::NonlinearDynamicSize, binary.range,
                      "a size may depend on one dim that is known only when running, but `" +
                          left.dim + "` and `" + right.dim + "` are two");
    return Size::wrong();
  }
  Size result = left;
  if (result.isStatic())
    result.dim = right.dim;
  bool failed = binary.op == BinaryOp::Subtract
                    ? llvm::SubOverflow(left.scale, right.scale, result.scale) ||
                          llvm::SubOverflow(left.offset, right.offset, result.offset)
                    : llvm::AddOverflow(left.scale, right.scale, result.scale) ||
                          llvm::AddOverflow(left.offset, right.offset, result.offset);
  if (failed)
    return overflow(sema, binary);
  if (result.scale == 0)
    result.dim.clear();
  return result;
}

static Size evalSizeBinary(Sema &sema, const BinaryExpr &binary) {
  if (binary.op == BinaryOp::Coalesce) {
    if (!isConfig(sema.names, *binary.left)) {
      sema.report.error(DiagCode::NotASize, binary.left->range,
                        "the left side of `??` is a value of the configuration, `config.name`");
      return Size::wrong();
    }
    bool present = configValue(sema, *binary.left);
    return sema.sizes.configFailed ? Size::wrong()
                                   : evalSize(sema, present ? *binary.left : *binary.right);
  }
  if (precedence(binary) == 1) {
    sema.report.error(DiagCode::NotASize, binary.range, "a truth value is no size");
    return Size::wrong();
  }
  Size left = evalSize(sema, *binary.left), right = evalSize(sema, *binary.right);
  if (left.error || right.error)
    return Size::wrong();
  left.label = right.label = "";
  switch (binary.op) {
  case BinaryOp::Divide:
  case BinaryOp::Remainder:
    return divide(sema, binary, left, right);
  case BinaryOp::Power:
    return power(sema, binary, left, right);
  case BinaryOp::Multiply:
    return multiply(sema, binary, left, right);
  default:
    return addOrSubtract(sema, binary, left, right);
  }
}

std::optional<bool> evalCondition(Sema &sema, const Expr &expr) {
  if (!spend(sema, 1, expr.range))
    return std::nullopt;
  if (auto *unary = llvm::dyn_cast<UnaryExpr>(&expr); unary && unary->op == UnaryOp::Not) {
    std::optional<bool> value = evalCondition(sema, *unary->operand);
    return value ? std::optional<bool>(!*value) : std::nullopt;
  }
  if (std::optional<bool> known = knownTruth(sema, expr))
    return known;
  if (auto *path = llvm::dyn_cast<PathExpr>(&expr))
    if (Decl *decl = sema.names.scope->find(path->path.str());
        decl && decl->kind == Decl::Kind::Static) {
      ScopedHome home(sema, *decl);
      return evalCondition(sema, *decl->expr);
    }
  if (auto *choice = llvm::dyn_cast<IfExpr>(&expr)) {
    std::optional<bool> condition = evalCondition(sema, *choice->condition);
    return condition ? evalCondition(sema, *condition ? *choice->thenValue : *choice->elseValue)
                     : std::nullopt;
  }
  auto *binary = llvm::dyn_cast<BinaryExpr>(&expr);
  if (!binary || precedence(expr) != 1 || binary->op == BinaryOp::Coalesce) {
    if (!llvm::isa<ErrorExpr>(expr))
      sema.report.error(DiagCode::NotACondition, expr.range, "expected a condition")
          .note("an `if` chooses when compiling, by sizes")
          .help("write a comparison, such as `D > 64`");
    return std::nullopt;
  }
  if (binary->op == BinaryOp::And || binary->op == BinaryOp::Or) {
    std::optional<bool> left = evalCondition(sema, *binary->left),
                        right = evalCondition(sema, *binary->right);
    if (!left || !right)
      return std::nullopt;
    return binary->op == BinaryOp::And ? *left && *right : *left || *right;
  }
  bool isEqual = binary->op == BinaryOp::Equal;
  if ((isEqual || binary->op == BinaryOp::NotEqual) &&
      (isText(sema, *binary->left) || isText(sema, *binary->right))) {
    std::optional<std::string> left = evalText(sema, *binary->left),
                               right = evalText(sema, *binary->right);
    return left && right ? std::optional((*left == *right) == isEqual) : std::nullopt;
  }
  Size left = evalSize(sema, *binary->left), right = evalSize(sema, *binary->right);
  if (left.error || right.error)
    return std::nullopt;
  if (!left.isStatic() || !right.isStatic()) {
    sema.report
        .error(DiagCode::NonlinearDynamicSize, expr.range,
               "a size that is known only when running cannot be compared")
        .note("an `if` chooses when compiling");
    return std::nullopt;
  }
  switch (binary->op) {
  case BinaryOp::Equal:
    return left.offset == right.offset;
  case BinaryOp::NotEqual:
    return left.offset != right.offset;
  case BinaryOp::Less:
    return left.offset < right.offset;
  case BinaryOp::LessEqual:
    return left.offset <= right.offset;
  case BinaryOp::Greater:
    return left.offset > right.offset;
  default:
    return left.offset >= right.offset;
  }
}

Size evalSize(Sema &sema, const Expr &expr) {
  if (!spend(sema, 1, expr.range))
    return Size::wrong();
  if (isConfig(sema.names, expr))
    return evalSizeOfConfig(sema, expr);
  switch (expr.kind) {
  case Expr::Kind::Error:
    return Size::wrong();
  case Expr::Kind::Integer:
    return Size::of(llvm::cast<IntegerExpr>(expr).value);
  case Expr::Kind::Path:
    return evalSizePath(sema, llvm::cast<PathExpr>(expr));
  case Expr::Kind::Binary:
    return evalSizeBinary(sema, llvm::cast<BinaryExpr>(expr));
  case Expr::Kind::Unary: {
    auto &unary = llvm::cast<UnaryExpr>(expr);
    if (unary.op == UnaryOp::Not)
      break;
    Size size = evalSize(sema, *unary.operand);
    if (size.offset == INT64_MIN || size.scale == INT64_MIN)
      return Size::wrong();
    size.scale = -size.scale;
    size.offset = -size.offset;
    size.label.clear();
    return size;
  }
  case Expr::Kind::If: {
    auto &choice = llvm::cast<IfExpr>(expr);
    std::optional<bool> condition = evalCondition(sema, *choice.condition);
    if (!condition)
      return Size::wrong();
    return evalSize(sema, *condition ? *choice.thenValue : *choice.elseValue);
  }
  default:
    break;
  }
  sema.report.error(DiagCode::NotASize, expr.range, "this is no size")
      .help("a size consists of whole numbers, dims, `+ - * / % **` and `config.name ?? default`");
  return Size::wrong();
}

void emitDim(Sema &sema, const Decl &decl, int64_t size, bool isDynamic) {
  sema.output.symbols.insert(decl.name);
  headerHere(sema.output);
  auto flag = [&](bool isSet) {
    return isSet ? sema.output.header.getUnitAttr() : mlir::UnitAttr();
  };
  sema.output.lastHeader = DimOp::create(sema.output.header, locate(sema, decl.range, decl.name),
                                         sema.output.header.getStringAttr(decl.name),
                                         sema.output.header.getI64IntegerAttr(size),
                                         flag(isDynamic), flag(decl.kind == Decl::Kind::Cache));
}

void emitDims(Sema &sema, Scope &dims) {
  for (Decl *decl : dims.order) {
    if (decl->kind == Decl::Kind::Cache)
      declareCache(sema, *decl);
    if (decl->kind != Decl::Kind::Dim)
      continue;
    const Size &size = sizeOf(sema, *decl);
    if (size.error || (!decl->dynamic && !size.isStatic())) // its dyn says how large it is
      continue;
    emitDim(sema, *decl, size.offset, decl->dynamic);
  }
}

int findNamedAxis(Sema &sema, llvm::ArrayRef<Axis> axes, const Name &name) {
  if (int at = findAxis(axes, name.text); at >= 0)
    return at;
  Decl *decl = sema.names.scope->find(name.text);
  if (!decl || decl->kind != Decl::Kind::Dim)
    return -1;
  Size size = sizeOf(sema, *decl);
  if (size.error || size.isStatic())
    return -1;
  return findAxis(axes, axisOfSize("", decl->dynamic ? Size{decl->name, 1, 0} : size).name);
}

} // namespace attn::frontend
