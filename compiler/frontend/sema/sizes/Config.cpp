// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `config.name`, `config.name[n]`: values of the checkpoint's config.json.
#include "compiler/frontend/sema/sizes/Config.h"
#include "compiler/frontend/sema/Limits.h"
#include "compiler/frontend/sema/sizes/Dims.h"
#include "compiler/frontend/sema/sizes/Statics.h"
#include "compiler/support/InputFile.h"
#include "compiler/support/Json.h"

namespace attn::frontend {

using namespace ast;

static void loadConfig(Sema &sema) {
  if (sema.sizes.config || sema.sizes.configFailed || sema.options.config.empty())
    return;
  auto fail = [&](const llvm::Twine &why) {
    sema.sizes.configFailed = true;
    sema.report.diagnostics.error(DiagCode::BadConfig, "the configuration `" + sema.options.config +
                                                           "` cannot be read: " + why);
  };
  llvm::Expected<std::string> text = readInputFile(sema.options.config, largestFile);
  if (!text)
    return fail(llvm::toString(text.takeError()));
  llvm::Expected<llvm::json::Value> value = parseJson(*text);
  if (!value)
    return fail(llvm::toString(value.takeError()));
  if (!value->getAsObject())
    return fail("it is no JSON object");
  sema.sizes.config = std::move(*value);
}

/// `config.name` in `config.name` and `config.name[n]`; null where an expression is neither.
static const PathExpr *configPath(const Expr &expr) {
  auto *index = llvm::dyn_cast<IndexExpr>(&expr);
  auto *path = llvm::dyn_cast<PathExpr>(index ? index->base.get() : &expr);
  bool isNamed = path && path->path.parts.size() > 1 && path->path.parts.front().text == "config";
  return isNamed ? path : nullptr;
}

bool isConfig(Names &names, const Expr &expr) {
  return configPath(expr) && !names.scope->find("config");
}

/// The element of a value at the positions of an index; null where there is none.
static const llvm::json::Value *elementAt(Sema &sema, const llvm::json::Value *value,
                                          const IndexExpr &index) {
  for (const ExprPtr &position : index.indices) {
    const llvm::json::Array *array = value ? value->getAsArray() : nullptr;
    Size at = evalSize(sema, *position);
    bool isThere = array && !at.error && at.isStatic() && at.offset >= 0 &&
                   at.offset < static_cast<int64_t>(array->size());
    value = isThere ? &(*array)[at.offset] : nullptr;
  }
  return value;
}

const llvm::json::Value *configValue(Sema &sema, const Expr &expr) {
  loadConfig(sema);
  const llvm::json::Value *value = sema.sizes.config ? &*sema.sizes.config : nullptr;
  for (const Name &part : llvm::ArrayRef<Name>(configPath(expr)->path.parts).drop_front()) {
    const llvm::json::Object *object = value ? value->getAsObject() : nullptr;
    value = object ? object->get(part.text) : nullptr;
  }
  if (auto *index = llvm::dyn_cast<IndexExpr>(&expr))
    value = elementAt(sema, value, *index);
  return value && value->kind() != llvm::json::Value::Null ? value : nullptr;
}

/// The value of an expression of the configuration, which has to be there; null and reported where
/// it is not. `otherwise`: what could stand for it.
static const llvm::json::Value *configRequired(Sema &sema, const Expr &expr,
                                               llvm::StringRef otherwise) {
  const llvm::json::Value *value = configValue(sema, expr);
  if (sema.sizes.configFailed || value)
    return value;
  std::string text = sema.source.text(expr.range).str();
  Diagnostic &diagnostic = sema.report.error(
      DiagCode::MissingConfigValue, expr.range,
      sema.options.config.empty() ? "there is no configuration to read `" + text + "` from"
                                  : "the configuration has no `" + text.substr(7) + "`");
  if (!sema.options.config.empty())
    diagnostic.note("it was read from `" + sema.options.config + "`");
  diagnostic.help("write `" + text + " ?? " + otherwise.str() +
                  "` to give a value where there is none");
  return nullptr;
}

static void reportKind(Sema &sema, const Expr &expr, const llvm::Twine &kind) {
  sema.report
      .error(DiagCode::NotASize, expr.range,
             "`" + sema.source.text(expr.range) + "` is no " + kind + " in the configuration")
      .note("it was read from `" + sema.options.config + "`");
}

std::optional<double> configNumber(Sema &sema, const Expr &expr) {
  const llvm::json::Value *value = configRequired(sema, expr, "768");
  if (!value)
    return std::nullopt;
  std::optional<double> number = value->getAsNumber();
  if (!number)
    reportKind(sema, expr, "number");
  return number;
}

/// The static that an expression names, or null.
static const Decl *staticNamed(Names &names, const Expr &expr) {
  auto *path = llvm::dyn_cast<PathExpr>(&expr);
  Decl *decl = path ? names.scope->find(path->path.str()) : nullptr;
  return decl && decl->kind == Decl::Kind::Static ? decl : nullptr;
}

bool isText(Sema &sema, const Expr &expr) {
  if (llvm::isa<StringExpr>(expr))
    return true;
  if (isConfig(sema.names, expr)) {
    const llvm::json::Value *value = configValue(sema, expr);
    return value && value->getAsString();
  }
  if (auto *binary = llvm::dyn_cast<BinaryExpr>(&expr))
    return binary->op == BinaryOp::Coalesce && isText(sema, *binary->right);
  if (auto *choice = llvm::dyn_cast<IfExpr>(&expr))
    return isText(sema, *choice->thenValue);
  const Decl *fixed = staticNamed(sema.names, expr);
  if (!fixed)
    return false;
  ScopedHome home(sema, *fixed);
  return isText(sema, *fixed->expr);
}

std::optional<std::string> evalText(Sema &sema, const Expr &expr) {
  if (!spend(sema, 1, expr.range))
    return std::nullopt;
  if (auto *string = llvm::dyn_cast<StringExpr>(&expr))
    return string->value;
  if (isConfig(sema.names, expr)) {
    const llvm::json::Value *value = configRequired(sema, expr, "\"\"");
    if (value && !value->getAsString())
      reportKind(sema, expr, "string");
    return value && value->getAsString() ? std::optional(value->getAsString()->str())
                                         : std::nullopt;
  }
  if (auto *binary = llvm::dyn_cast<BinaryExpr>(&expr);
      binary && binary->op == BinaryOp::Coalesce && isConfig(sema.names, *binary->left)) {
    bool isPresent = configValue(sema, *binary->left);
    return evalText(sema, isPresent ? *binary->left : *binary->right);
  }
  if (auto *choice = llvm::dyn_cast<IfExpr>(&expr)) {
    std::optional<bool> condition = evalCondition(sema, *choice->condition);
    return condition ? evalText(sema, *condition ? *choice->thenValue : *choice->elseValue)
                     : std::nullopt;
  }
  if (const Decl *fixed = staticNamed(sema.names, expr)) {
    ScopedHome home(sema, *fixed);
    return evalText(sema, *fixed->expr);
  }
  if (!llvm::isa<ErrorExpr>(expr))
    sema.report.error(DiagCode::NotACondition, expr.range,
                      "this is compared with a string, but is none");
  return std::nullopt;
}

} // namespace attn::frontend
