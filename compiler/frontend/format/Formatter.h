// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Syntax tree -> the one formatting of a spec.
#pragma once

#include "compiler/frontend/syntax/Ast.h"

namespace attn::frontend {

/// The file as `attn fmt` writes it: comments kept, blank lines kept where single, formatting it
/// again changes nothing. Only for files that parsed without errors, since what did not parse is
/// not in the tree.
std::string format(const ast::File &file, const SourceFile &source);

} // namespace attn::frontend
