// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `config.name`, `config.name[n]`: values of the checkpoint's config.json.
#pragma once

#include "compiler/frontend/sema/Context.h"

namespace attn::frontend {

/// Whether an expression is `config.name`, or an element of that.
bool isConfig(Names &names, const ast::Expr &expr);

/// The value of such an expression, null where there is none.
const llvm::json::Value *configValue(Sema &sema, const ast::Expr &expr);

/// The value of such an expression as a number; nothing where it was reported.
std::optional<double> configNumber(Sema &sema, const ast::Expr &expr);

/// Whether an expression is a string: one that is written, a value of the configuration or a static
/// that is one.
bool isText(Sema &sema, const ast::Expr &expr);

/// The string that an expression is; nothing where it is none, which was reported.
std::optional<std::string> evalText(Sema &sema, const ast::Expr &expr);

} // namespace attn::frontend
