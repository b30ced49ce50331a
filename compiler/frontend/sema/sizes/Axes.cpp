// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Axes and their names. An axis' name is the expression that was written for it; one that is known
// only when running is named by its size.
#include "compiler/frontend/sema/sizes/Axes.h"
#include "compiler/frontend/sema/Limits.h"
#include "compiler/frontend/sema/sizes/Config.h"
#include "compiler/frontend/sema/sizes/Dims.h"

namespace attn::frontend {

using namespace ast;

constexpr int64_t largestTensor = int64_t(1) << 48;

std::string listAxes(llvm::ArrayRef<Axis> axes) {
  std::string text;
  for (const Axis &axis : axes)
    text += (text.empty() ? "" : ", ") + axisLabel(axis.name).str();
  return text;
}

std::string showAxes(llvm::ArrayRef<Axis> axes) { return "[" + listAxes(axes) + "]"; }

int findAxis(llvm::ArrayRef<Axis> axes, llvm::StringRef name) {
  for (size_t i = 0; i < axes.size(); ++i)
    if (axisLabel(axes[i].name) == axisLabel(name))
      return i;
  return -1;
}

Axes axesOfType(mlir::Type tensor) {
  Axes axes;
  auto type = llvm::cast<mlir::RankedTensorType>(tensor);
  for (auto [name, size] : llvm::zip(attn::axesOf(type), type.getShape()))
    axes.push_back({name.str(), size});
  return axes;
}

Axes axesOfValue(mlir::Value value) { return axesOfType(value.getType()); }

std::optional<int64_t> productOf(llvm::ArrayRef<int64_t> sizes) {
  int64_t product = 1;
  for (int64_t size : sizes)
    if (llvm::MulOverflow(product, size, product) || product > largestTensor)
      return std::nullopt;
  return product;
}

unsigned precedence(const Expr &expr) {
  auto *binary = llvm::dyn_cast<BinaryExpr>(&expr);
  if (!binary)
    return llvm::isa<IfExpr>(expr) ? 0 : 9;
  switch (binary->op) {
  case BinaryOp::Add:
  case BinaryOp::Subtract:
    return 2;
  case BinaryOp::Multiply:
  case BinaryOp::Divide:
  case BinaryOp::Remainder:
    return 3;
  case BinaryOp::Power:
    return 5;
  default:
    return 1;
  }
}

std::string canonicalText(const Expr &expr,
                          llvm::function_ref<std::string(llvm::StringRef)> rename) {
  auto operand = [&](const Expr &part, bool looser) {
    std::string text = canonicalText(part, rename);
    return looser ? "(" + text + ")" : text;
  };
  if (auto *integer = llvm::dyn_cast<IntegerExpr>(&expr))
    return std::to_string(integer->value);
  if (auto *path = llvm::dyn_cast<PathExpr>(&expr))
    return rename ? rename(path->path.str()) : path->path.str();
  if (auto *unary = llvm::dyn_cast<UnaryExpr>(&expr))
    return spelling(unary->op).str() + operand(*unary->operand, precedence(*unary->operand) < 9);
  if (auto *binary = llvm::dyn_cast<BinaryExpr>(&expr)) {
    unsigned level = precedence(expr);
    std::string op = spelling(binary->op).str();
    if (level != 3 && level != 5)
      op = " " + op + " ";
    return operand(*binary->left, precedence(*binary->left) < level) + op +
           operand(*binary->right, precedence(*binary->right) <= level);
  }
  if (auto *choice = llvm::dyn_cast<IfExpr>(&expr))
    return "if " + canonicalText(*choice->condition, rename) + " then " +
           canonicalText(*choice->thenValue, rename) + " else " +
           canonicalText(*choice->elseValue, rename);
  return "?";
}

Axis axisOfSize(const std::string &name, const Size &size) {
  if (size.isStatic())
    return {name, size.offset};
  // A dynamic axis is named by its size, which is how that is known everywhere.
  std::string text = size.scale == 1 ? size.dim : std::to_string(size.scale) + "*" + size.dim;
  if (size.offset)
    text += " + " + std::to_string(size.offset);
  if (!size.label.empty())
    text = size.label + ":" + text;
  return {text, mlir::ShapedType::kDynamic};
}

Size sizeOfAxis(const Axis &axis) {
  if (!axis.isDynamic())
    return Size::of(axis.size);
  LinearSize size = parseLinearSize(axis.name).value_or(LinearSize());
  return {size.dim.str(), size.scale, size.offset};
}

bool isSameSize(const Size &a, const Size &b) {
  return a.dim == b.dim && a.scale == b.scale && a.offset == b.offset;
}

std::string sizeText(const Size &size) {
  return axisOfSize(std::to_string(size.offset), size).name;
}

std::optional<Axis> axisOf(Sema &sema, const Expr &expr) {
  if (auto *path = llvm::dyn_cast<PathExpr>(&expr); path && isConfig(sema.names, expr)) {
    sema.report.error(DiagCode::NotASize, expr.range, "an axis needs a name")
        .help("write `dim D = " + path->path.str() + "` and use `D` here");
    return std::nullopt;
  }
  Size size = evalSize(sema, expr);
  if (size.error)
    return std::nullopt;
  if (size.isStatic() && size.offset < 1) {
    sema.report
        .error(DiagCode::SizeNotPositive, expr.range,
               "the axis `" + canonicalText(expr) + "` has the size " + llvm::Twine(size.offset))
        .note("sizes are at least 1");
    return std::nullopt;
  }
  if (!size.isStatic() && (size.scale < 1 || size.offset < 0)) {
    sema.report
        .error(DiagCode::NonlinearDynamicSize, expr.range,
               "`" + canonicalText(expr) + "` may be less than 1")
        .note("`" + size.dim + "` is known only when running, and is at least 1");
    return std::nullopt;
  }
  std::string name = canonicalText(expr);
  if (name.size() > longestName) {
    sema.report.error(DiagCode::NestedTooDeeply, expr.range, "this is too long to name an axis")
        .help("give it a name: `dim N = …`");
    return std::nullopt;
  }
  return axisOfSize(name, size);
}

std::string helpForSecond(Sema &sema, llvm::StringRef axis) {
  bool isName = llvm::isAlpha(axis.front()) || axis.front() == '_';
  isName &= llvm::all_of(axis, [](char c) { return llvm::isAlnum(c) || c == '_'; });
  std::string free = isName ? (axis + "2").str() : "N";
  for (int n = 3; sema.names.scope->find(free); ++n)
    free = (isName ? axis : llvm::StringRef("N")).str() + std::to_string(n);
  return ("give the second a dim of its own: `dim " + free + " = " + axis + "`").str();
}

std::optional<Axes> axesOf(Sema &sema, const std::vector<ExprPtr> &exprs, SourceRange range,
                           bool sizesOnly) {
  Axes axes;
  if (!checkRank(sema.report, exprs.size(), range))
    return std::nullopt;
  bool wrong = false;
  for (const ExprPtr &expr : exprs) {
    std::optional<Axis> axis = axisOf(sema, *expr);
    wrong |= !axis;
    if (!axis)
      continue;
    if (int at = findAxis(axes, axis->name); at >= 0 && !sizesOnly) {
      sema.report
          .error(DiagCode::DuplicateAxis, expr->range,
                 "the axis `" + axis->name + "` appears twice")
          .at(exprs[at]->range, "it is here already")
          .help(helpForSecond(sema, axis->name));
      wrong = true;
    }
    axes.push_back(*axis);
  }
  if (wrong)
    return std::nullopt;
  return axes;
}

/// All paths in an expression of sizes, from left to right.
static void pathsIn(const Expr &expr, llvm::function_ref<void(const PathExpr &)> found) {
  if (auto *path = llvm::dyn_cast<PathExpr>(&expr)) {
    found(*path);
  } else if (auto *unary = llvm::dyn_cast<UnaryExpr>(&expr)) {
    pathsIn(*unary->operand, found);
  } else if (auto *binary = llvm::dyn_cast<BinaryExpr>(&expr)) {
    pathsIn(*binary->left, found);
    pathsIn(*binary->right, found);
  }
}

/// "D = 8 (line 3), H = 2 (--set)": the dims in an expression.
static std::string describeSizes(Sema &sema, const Expr &expr) {
  Axes axes;
  pathsIn(expr, [&](const PathExpr &path) {
    Decl *decl = sema.names.scope->find(path.path.str());
    if (decl && decl->kind == Decl::Kind::Dim && !decl->size.error && decl->expr)
      axes.push_back({decl->name, decl->dynamic ? mlir::ShapedType::kDynamic : decl->size.offset});
  });
  return whereSizes(sema, axes);
}

void noteSizes(Sema &sema, Diagnostic &diagnostic, const Expr &expr) {
  if (std::string sizes = describeSizes(sema, expr); !sizes.empty())
    diagnostic.note(sizes);
}

void noteSameNames(Diagnostic &diagnostic, llvm::ArrayRef<Axis> here, llvm::ArrayRef<Axis> there) {
  auto size = [](const Axis &axis) {
    llvm::StringRef own = llvm::StringRef(axis.name).rsplit(':').second;
    return axis.isDynamic() ? "`" + (own.empty() ? axis.name : own.str()) + "` long"
                            : std::to_string(axis.size) + " long";
  };
  for (const Axis &axis : here)
    for (const Axis &other : there)
      if (axisLabel(axis.name) == axisLabel(other.name) && axis != other)
        diagnostic.note("`" + axisLabel(axis.name) + "` is " + size(axis) + " here, and " +
                        size(other) + " there");
}

std::string whereSizes(Sema &sema, llvm::ArrayRef<Axis> axes) {
  std::string text;
  std::set<std::string> seen;
  for (const Axis &axis : axes) {
    std::string label = axisLabel(axis.name).str();
    Decl *decl = sema.names.scope->find(label);
    if (!decl || decl->kind != Decl::Kind::Dim || (axis.isDynamic() && !decl->dynamic) ||
        !seen.insert(label).second)
      continue;
    if (!text.empty())
      text += ", ";
    text += label + (decl->dynamic ? " <= " : " = ") +
            (axis.isDynamic() ? std::to_string(decl->size.offset) : std::to_string(axis.size));
    uint32_t place = decl->range.begin;
    text +=
        decl->overridden ? " (--set)" : llvm::formatv(" (line {0}", sema.source.line(place)).str();
    if (!decl->overridden)
      text += sema.source.isUsed(place) ? (" of " + sema.source.nameAt(place) + ")").str() : ")";
  }
  return text;
}

} // namespace attn::frontend
