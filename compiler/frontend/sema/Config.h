// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `config.name`: values of the checkpoint's config.json.
#ifndef ATTN_COMPILER_FRONTEND_SEMA_CONFIG_H
#define ATTN_COMPILER_FRONTEND_SEMA_CONFIG_H

#include "compiler/frontend/sema/Context.h"

namespace attn::frontend {

/// Whether an expression is `config.name`.
bool isConfig(Names &names, const ast::Expr &expr);

/// The value of `config.name`, null where there is none.
const llvm::json::Value *configValue(Sema &sema, const ast::PathExpr &path);

/// The value of `config.name` as a number; nothing where it was reported.
std::optional<double> configNumber(Sema &sema, const ast::PathExpr &path);

} // namespace attn::frontend

#endif // ATTN_COMPILER_FRONTEND_SEMA_CONFIG_H
