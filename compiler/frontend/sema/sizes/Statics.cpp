// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Statics: what a block is given when compiling. A static stands for the expression that was
// written for it, with the names that it had there: a number, a truth value, or a bias or mask.
// What that reads of the tensors of its place is passed to the block's function with the others.
#include "compiler/frontend/sema/sizes/Statics.h"
#include "compiler/frontend/sema/Limits.h"
#include "compiler/frontend/sema/attention/Formula.h"
#include "compiler/frontend/sema/blocks/Declarations.h"
#include "compiler/frontend/sema/entries/Caches.h"
#include "compiler/frontend/sema/expressions/Exprs.h"
#include "compiler/frontend/sema/sizes/Axes.h"
#include "compiler/frontend/sema/sizes/Config.h"
#include "compiler/frontend/sema/sizes/Dims.h"

namespace attn::frontend {

using namespace ast;

static mlir::Value here(Sema &sema, mlir::Value value, size_t frame);

std::optional<std::vector<SemaValue>> tensorArguments(Sema &sema, const CallExpr &call,
                                                      llvm::StringRef name) {
  std::vector<SemaValue> values;
  for (const Argument &argument : call.arguments) {
    bool isPlain = argument.clauses().empty();
    if (argument.name && isPlain)
      continue;
    if (!isPlain || values.size() != size_t(&argument - call.arguments.data())) {
      sema.report
          .error(DiagCode::WrongArguments, argument.value->range,
                 "`" + name + "` takes tensors, then what it is given by name")
          .help("write `" + name + "(x, name = value)`");
      return std::nullopt;
    }
    Decl *cache = cacheNamed(sema.names, *argument.value);
    values.push_back(cache ? SemaValue::of(cache) : eval(sema, *argument.value));
  }
  return values;
}

std::optional<std::string> bindStatics(Sema &sema, const BlockDecl &block, const CallExpr &call,
                                       const Given &given, Scope &inside) {
  const Signature &signature = block.signature;
  struct Value {
    const Expr *expr;
    Scope *home;
  };
  std::map<std::string, Value> values;
  bool fine = true;
  size_t next = 0;
  auto give = [&](const Argument &argument, Scope *home) {
    const Name *name = argument.name ? &*argument.name : nullptr;
    if (!name && next < signature.statics.size())
      name = &signature.statics[next++].name;
    bool isKnown =
        name && argument.clauses().empty() &&
        llvm::any_of(signature.statics, [&](const Static &s) { return s.name.text == name->text; });
    if (!isKnown) {
      std::vector<llvm::StringRef> names;
      for (const Static &known : signature.statics)
        names.push_back(known.name.text);
      Diagnostic &diagnostic = sema.report.error(
          DiagCode::WrongArguments, argument.name ? argument.name->range : argument.value->range,
          "`" + signature.name.text + "` takes no such argument");
      diagnostic.at(signature.range, "declared here");
      if (auto near = name ? nearestName(name->text, names) : std::nullopt)
        diagnostic.didYouMean(*near);
      else if (!names.empty())
        diagnostic.note("by name it takes " + llvm::join(names, ", "));
      fine = false;
    } else if (!values.insert({name->text, {argument.value.get(), home}}).second) {
      sema.report.error(DiagCode::WrongArguments, argument.value->range,
                        "`" + name->text + "` is given twice");
      fine = false;
    }
  };
  for (const Argument &argument : given.statics)
    give(argument, given.scope);
  for (const Argument &argument : call.arguments)
    if (argument.name)
      give(argument, sema.names.scope);
  std::string key;
  for (const Static &fixed : signature.statics) {
    auto found = values.find(fixed.name.text);
    if (found == values.end() && !fixed.defaultValue) {
      sema.report
          .error(DiagCode::WrongArguments, call.range, "`" + fixed.name.text + "` is not given")
          .at(fixed.name.range, "declared here");
      fine = false;
      continue;
    }
    bool isDefault = found == values.end();
    const Expr &expr = isDefault ? *fixed.defaultValue : *found->second.expr;
    if (Decl *decl =
            declare(sema, inside, Decl::Kind::Static, &block, fixed.name.text, fixed.name.range)) {
      decl->expr = &expr;
      decl->home = isDefault ? &inside : found->second.home;
      decl->isParameter = true;
    }
    // Expressions that mean the same in two places may be built twice; never the other way round.
    if (!isDefault)
      key += "|" + fixed.name.text + "=" + std::to_string(expr.range.begin) + "@" +
             std::to_string(found->second.home->number);
  }
  return fine ? std::optional(key) : std::nullopt;
}

std::optional<bool> knownTruth(Sema &sema, const Expr &expr) {
  if (!spend(sema, 1, expr.range))
    return std::nullopt;
  if (auto *unary = llvm::dyn_cast<UnaryExpr>(&expr); unary && unary->op == UnaryOp::Not) {
    std::optional<bool> value = knownTruth(sema, *unary->operand);
    return value ? std::optional(!*value) : std::nullopt;
  }
  if (auto *binary = llvm::dyn_cast<BinaryExpr>(&expr);
      binary && (binary->op == BinaryOp::And || binary->op == BinaryOp::Or)) {
    std::optional<bool> left = knownTruth(sema, *binary->left),
                        right = knownTruth(sema, *binary->right);
    if (!left || !right)
      return std::nullopt;
    return binary->op == BinaryOp::And ? *left && *right : *left || *right;
  }
  auto *path = llvm::dyn_cast<PathExpr>(&expr);
  if (!path)
    return std::nullopt;
  std::string name = path->path.str();
  if (Decl *decl = sema.names.scope->find(name)) {
    if (decl->kind != Decl::Kind::Static)
      return std::nullopt;
    ScopedHome home(sema, *decl);
    return knownTruth(sema, *decl->expr);
  }
  return name == "true"    ? std::optional(true)
         : name == "false" ? std::optional(false)
                           : std::nullopt;
}

bool isKnown(Sema &sema, const Expr &expr, llvm::function_ref<bool(llvm::StringRef)> hides) {
  auto are = [&](auto &...parts) { return (isKnown(sema, *parts, hides) && ...); };
  switch (expr.kind) {
  case Expr::Kind::Integer:
  case Expr::Kind::String:
    return true;
  case Expr::Kind::Path: {
    std::string name = llvm::cast<PathExpr>(expr).path.str();
    if (hides && hides(name))
      return false;
    if (isConfig(sema.names, expr) || knownTruth(sema, expr))
      return true;
    Decl *decl = sema.names.scope->find(name);
    if (decl && decl->kind == Decl::Kind::Static) {
      ScopedHome home(sema, *decl);
      return isKnown(sema, *decl->expr, hides);
    }
    return decl && decl->kind == Decl::Kind::Dim && !decl->dynamic &&
           sizeOf(sema, *decl).isStatic();
  }
  case Expr::Kind::Index:
    return isConfig(sema.names, expr);
  case Expr::Kind::Unary:
    return are(llvm::cast<UnaryExpr>(expr).operand);
  case Expr::Kind::Binary: {
    auto &binary = llvm::cast<BinaryExpr>(expr);
    return binary.op != BinaryOp::Divide && are(binary.left, binary.right);
  }
  case Expr::Kind::If: {
    auto &choice = llvm::cast<IfExpr>(expr);
    return are(choice.condition, choice.thenValue, choice.elseValue);
  }
  default:
    return false;
  }
}

Formula formulaAt(const Formula &formula, const Decl &fixed) {
  auto lower = [](const Axis &axis) { return axisLabel(axis.name).lower(); };
  auto outside = [&](const std::map<std::string, Axis> &outer, llvm::StringRef part) {
    return llvm::find_if(outer, [&](const auto &axis) { return lower({axis.first, 0}) == part; });
  };
  Formula there = formula;
  there.frame = std::min(formula.frame, formula.sema.function.frames.size() - 1);
  for (; there.frame > 0 && formula.sema.function.frames[there.frame].scope != fixed.home;
       --there.frame) {
    const std::map<std::string, Axis> &outer =
        formula.sema.function.frames[there.frame].instance->outerAxes;
    std::map<std::string, FormulaValue> inside = std::exchange(there.names, {}), renamed;
    for (auto &[name, value] : inside) {
      // `i.y` is along what `Y` of the block is outside.
      auto [letter, part] = llvm::StringRef(name).split('.');
      if (auto axis = outside(outer, part); axis != outer.end()) {
        renamed[letter.str() + "." + lower(axis->second)] = value;
        continue;
      }
      auto axis = outer.find(axisLabel(value.axis.name).str());
      if (axis == outer.end() || name != lower(value.axis)) {
        there.names[name] = value;
        continue;
      }
      value.axis = axis->second;
      renamed[lower(value.axis)] = value;
    }
    for (const auto &[name, value] : renamed)
      there.names[name] = value;
  }
  return there;
}

size_t liftedBefore(FunctionState &function, llvm::ArrayRef<Axis> axes, size_t own) {
  Instance *instance = function.frames.empty() ? nullptr : function.frames.back().instance;
  if (!instance || axes.size() < own)
    return 0;
  bool isLifted = llvm::all_of(axes.drop_back(own), [&](const Axis &axis) {
    return findAxis(instance->everyLifted, axis.name) >= 0;
  });
  return isLifted ? axes.size() - own : 0;
}

mlir::Value here(Sema &sema, mlir::Value value) {
  return sema.function.frames.empty() ? value : here(sema, value, sema.function.frames.size() - 1);
}

static mlir::Value here(Sema &sema, mlir::Value value, size_t frame) {
  Frame &own = sema.function.frames[frame];
  mlir::Region *body = &own.function.getBody();
  if (body->isAncestor(value.getParentRegion()) || !own.instance)
    return value;
  mlir::Value outer = here(sema, value, frame - 1);
  std::vector<mlir::Value> &captures = own.instance->captures;
  size_t first = own.function.getNumArguments() - captures.size();
  size_t at = llvm::find(captures, outer) - captures.begin();
  if (at == captures.size()) {
    spend(sema, at, {}); // all of them are moved
    captures.push_back(outer);
    (void)own.function.insertArgument(first + at, outer.getType(), {}, outer.getLoc());
  }
  return own.function.getArgument(first + at);
}

} // namespace attn::frontend
