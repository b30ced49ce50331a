// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The expressions that a stack gives its block -> a text for each layer, equal where they mean the
// same: conditions on the layer's number are decided and numbers computed; what does not speak of
// the layer stands for itself.
#include "compiler/frontend/sema/parameters/LayerScopes.h"
#include "compiler/frontend/sema/blocks/Declarations.h"
#include "compiler/frontend/sema/expressions/Exprs.h"
#include "compiler/frontend/sema/sizes/Axes.h"
#include "compiler/frontend/sema/sizes/Config.h"
#include "compiler/frontend/sema/sizes/Dims.h"
#include "compiler/frontend/sema/sizes/Statics.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/SaveAndRestore.h"

namespace attn::frontend {

using namespace ast;

namespace {

/// Expressions as texts, for one layer.
class LayerText {
public:
  LayerText(Sema &sema, const Decl &number) : sema(sema), number(number) {}

  std::string of(const Expr &expr);

private:
  Decl *declOf(const Expr &expr) {
    auto *path = llvm::dyn_cast<PathExpr>(&expr);
    return path ? sema.names.scope->find(path->path.str()) : nullptr;
  }
  /// Whether an expression speaks of the layer's number.
  bool isOfLayer(const Expr &expr);
  std::string ofKnown(const Expr &expr);
  std::string ofCall(const CallExpr &call);

  Sema &sema;
  const Decl &number;
};

} // namespace

bool LayerText::isOfLayer(const Expr &expr) {
  switch (expr.kind) {
  case Expr::Kind::Path:
    return declOf(expr) == &number;
  case Expr::Kind::Unary:
    return isOfLayer(*llvm::cast<UnaryExpr>(expr).operand);
  case Expr::Kind::Binary:
    return isOfLayer(*llvm::cast<BinaryExpr>(expr).left) ||
           isOfLayer(*llvm::cast<BinaryExpr>(expr).right);
  case Expr::Kind::If: {
    auto &choice = llvm::cast<IfExpr>(expr);
    return isOfLayer(*choice.condition) || isOfLayer(*choice.thenValue) ||
           isOfLayer(*choice.elseValue);
  }
  case Expr::Kind::Index:
    return llvm::any_of(llvm::cast<IndexExpr>(expr).indices,
                        [&](const ExprPtr &index) { return isOfLayer(*index); });
  case Expr::Kind::Call:
    return llvm::any_of(llvm::cast<CallExpr>(expr).arguments, [&](const Argument &argument) {
      return isOfLayer(*argument.value) || (argument.by && isOfLayer(*argument.by));
    });
  default:
    return false;
  }
}

/// The value of an expression that is known, a truth value, a string or a number.
std::string LayerText::ofKnown(const Expr &expr) {
  auto *binary = llvm::dyn_cast<BinaryExpr>(&expr);
  auto *unary = llvm::dyn_cast<UnaryExpr>(&expr);
  bool isCondition = (binary && precedence(expr) == 1 && binary->op != BinaryOp::Coalesce) ||
                     (unary && unary->op == UnaryOp::Not) || knownTruth(sema, expr);
  if (isCondition) {
    std::optional<bool> value = evalCondition(sema, expr);
    return !value ? "?" : *value ? "true" : "false";
  }
  if (isText(sema, expr))
    return "\"" + evalText(sema, expr).value_or("") + "\"";
  SemaValue value = eval(sema, expr);
  return value.isNumber() ? llvm::formatv("{0:e17}", value.number).str() : "?";
}

std::string LayerText::ofCall(const CallExpr &call) {
  std::string text = of(*call.callee) + "(";
  for (const Argument &argument : call.arguments) {
    text += (argument.name ? argument.name->text : "") + "=" + of(*argument.value);
    text += argument.by ? " by " + of(*argument.by) : "";
    text += ",";
  }
  return text + ")";
}

std::string LayerText::of(const Expr &expr) {
  std::string itself = "@" + std::to_string(expr.range.begin);
  if (auto *choice = llvm::dyn_cast<IfExpr>(&expr); choice && isKnown(sema, *choice->condition)) {
    std::optional<bool> condition = evalCondition(sema, *choice->condition);
    return condition ? of(*condition ? *choice->thenValue : *choice->elseValue) : "?";
  }
  if (!isOfLayer(expr))
    return itself;
  if (isKnown(sema, expr))
    return ofKnown(expr);
  if (auto *call = llvm::dyn_cast<CallExpr>(&expr))
    return ofCall(*call);
  if (auto *binary = llvm::dyn_cast<BinaryExpr>(&expr))
    return "(" + of(*binary->left) + spelling(binary->op).str() + of(*binary->right) + ")";
  if (auto *unary = llvm::dyn_cast<UnaryExpr>(&expr))
    return spelling(unary->op).str() + of(*unary->operand);
  return itself + " of " + std::to_string(number.size.offset);
}

LayerScopes::LayerScopes(Sema &sema, const StackDecl &stack, Scope &declaredIn, int64_t layers)
    : sema(sema), stack(stack), scopes{&declaredIn} {
  if (stack.arguments.empty() && stack.dimArguments.empty())
    return;
  scopes.clear();
  std::map<std::string, size_t> known;
  for (int64_t n = 0; n < layers; ++n) {
    auto scope = std::make_unique<Scope>();
    scope->parent = &declaredIn;
    scope->number = ++sema.function.bodies;
    Decl *number = declare(sema, *scope, Decl::Kind::Dim, &stack, "n", stack.name.range);
    number->state = Decl::State::Done;
    number->isParameter = true;
    number->size = Size::of(n);
    llvm::SaveAndRestore place(sema.names.scope, scope.get());
    auto [at, isNew] = known.insert({whatIsSaid(*number), scopes.size()});
    if (isNew) {
      scopes.push_back(scope.get());
      owned.push_back(std::move(scope));
    }
    scopeOf.push_back(at->second);
    if (n == 0 && !number->used) { // all the others would be the same
      scopeOf.clear();
      return;
    }
  }
}

std::string LayerScopes::whatIsSaid(Decl &number) {
  LayerText text(sema, number);
  std::string said;
  auto add = [&](const Expr &expr) { said += text.of(expr) + "|"; };
  for (const DimArgument &argument : stack.dimArguments)
    add(*argument.value);
  for (const Argument &argument : stack.arguments)
    add(*argument.value);
  return said;
}

} // namespace attn::frontend
