// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rules of hooks, `attend` and `scan`. Each `parseX` is the rule of the same name in the grammar of
// compiler/frontend/REFERENCE.md.
#pragma once

#include "compiler/frontend/syntax/ParserImpl.h"

namespace attn::frontend {

/// `score`, `bias` or `mask`.
ast::ItemPtr parseHook(Parser &parser);

/// `T`, or `T as S`.
std::optional<ast::AlongAxis> parseAlongAxis(Parser &parser);

/// `attend q over k, v along T { … }`.
ast::ExprPtr parseAttend(Parser &parser);

/// `scan cell over x along T …`.
ast::ExprPtr parseScan(Parser &parser);

} // namespace attn::frontend
