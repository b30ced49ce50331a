// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `config.name`: values of the checkpoint's config.json.
#include "compiler/frontend/sema/Config.h"
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
  llvm::Expected<std::string> text = readFile(sema.options.config);
  if (!text)
    return fail(llvm::toString(text.takeError()));
  llvm::Expected<llvm::json::Value> value = parseJson(*text);
  if (!value)
    return fail(llvm::toString(value.takeError()));
  if (!value->getAsObject())
    return fail("it is no JSON object");
  sema.sizes.config = std::move(*value);
}

bool isConfig(Names &names, const Expr &expr) {
  auto *path = llvm::dyn_cast<PathExpr>(&expr);
  return path && path->path.parts.size() > 1 && path->path.parts.front().text == "config" &&
         !names.scope->find("config");
}

const llvm::json::Value *configValue(Sema &sema, const PathExpr &path) {
  loadConfig(sema);
  const llvm::json::Value *value = sema.sizes.config ? &*sema.sizes.config : nullptr;
  for (const Name &part : llvm::ArrayRef<Name>(path.path.parts).drop_front()) {
    const llvm::json::Object *object = value ? value->getAsObject() : nullptr;
    value = object ? object->get(part.text) : nullptr;
  }
  return value && value->kind() != llvm::json::Value::Null ? value : nullptr;
}

std::optional<double> configNumber(Sema &sema, const PathExpr &path) {
  const llvm::json::Value *value = configValue(sema, path);
  if (sema.sizes.configFailed)
    return std::nullopt;
  std::string text = path.path.str();
  if (!value) {
    Diagnostic &diagnostic = sema.report.error(
        DiagCode::MissingConfigValue, path.range,
        sema.options.config.empty() ? "there is no configuration to read `" + text + "` from"
                                    : "the configuration has no `" + text.substr(7) + "`");
    if (!sema.options.config.empty())
      diagnostic.note("it was read from `" + sema.options.config + "`");
    diagnostic.help("write `" + text + " ?? 768` to give a value where there is none");
    return std::nullopt;
  }
  std::optional<double> number = value->getAsNumber();
  if (!number)
    sema.report
        .error(DiagCode::NotASize, path.range, "`" + text + "` is no number in the configuration")
        .note("it was read from `" + sema.options.config + "`");
  return number;
}

} // namespace attn::frontend
