// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rules of expressions, whose trees are bounded in height.
#pragma once

#include "compiler/frontend/syntax/ParserImpl.h"

namespace attn::frontend {

/// Stands for what could not be read.
inline ast::ExprPtr errorExpr(SourceRange range) { return std::make_unique<ast::ErrorExpr>(range); }

/// Reports too much nesting and skips to the next item.
ast::ExprPtr tooDeep(Parser &parser, SourceRange range);

/// Sets the height of a finished node; one beyond the limit becomes an ErrorExpr.
ast::ExprPtr finish(Parser &parser, ast::ExprPtr expr, unsigned childDepth);

/// An expression; an ErrorExpr where there is none.
ast::ExprPtr parseExpr(Parser &parser);

/// The arguments of a call, behind its parenthesis.
void parseArguments(Parser &parser, std::vector<ast::Argument> &arguments);

/// An operand with the calls and indices behind it.
ast::ExprPtr parsePostfix(Parser &parser);

/// Reports an `=` behind an expression that was meant to compare, and reads what follows it.
void checkEquality(Parser &parser);

} // namespace attn::frontend
