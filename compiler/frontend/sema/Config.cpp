// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `config.name`: values of the checkpoint's config.json.
#include "compiler/Json.h"
#include "compiler/frontend/sema/SemaImpl.h"

namespace attn::frontend {

using namespace ast;

void Sema::loadConfig() {
  if (config || configFailed || options.config.empty())
    return;
  auto fail = [&](const llvm::Twine &why) {
    configFailed = true;
    diagnostics.error(DiagCode::BadConfig,
                      "the configuration `" + options.config + "` cannot be read: " + why);
  };
  llvm::Expected<std::string> text = readFile(options.config);
  if (!text)
    return fail(llvm::toString(text.takeError()));
  llvm::Expected<llvm::json::Value> value = parseJson(*text);
  if (!value)
    return fail(llvm::toString(value.takeError()));
  if (!value->getAsObject())
    return fail("it is no JSON object");
  config = std::move(*value);
}

bool Sema::isConfig(const Expr &expr) {
  auto *path = llvm::dyn_cast<PathExpr>(&expr);
  return path && path->path.parts.size() > 1 && path->path.parts.front().text == "config" &&
         !scope->find("config");
}

const llvm::json::Value *Sema::configValue(const PathExpr &path) {
  loadConfig();
  const llvm::json::Value *value = config ? &*config : nullptr;
  for (const Name &part : llvm::ArrayRef<Name>(path.path.parts).drop_front()) {
    const llvm::json::Object *object = value ? value->getAsObject() : nullptr;
    value = object ? object->get(part.text) : nullptr;
  }
  return value && value->kind() != llvm::json::Value::Null ? value : nullptr;
}

std::optional<double> Sema::configNumber(const PathExpr &path) {
  const llvm::json::Value *value = configValue(path);
  if (configFailed)
    return std::nullopt;
  std::string text = path.path.str();
  if (!value) {
    Diagnostic &diagnostic =
        error(DiagCode::MissingConfigValue, path.range,
              options.config.empty() ? "there is no configuration to read `" + text + "` from"
                                     : "the configuration has no `" + text.substr(7) + "`");
    if (!options.config.empty())
      diagnostic.note("it was read from `" + options.config + "`");
    diagnostic.help("write `" + text + " ?? 768` to give a value where there is none");
    return std::nullopt;
  }
  std::optional<double> number = value->getAsNumber();
  if (!number)
    error(DiagCode::NotASize, path.range, "`" + text + "` is no number in the configuration")
        .note("it was read from `" + options.config + "`");
  return number;
}

} // namespace attn::frontend
