// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Text of a spec -> syntax tree. The parser looks one token ahead, never stops at an error and
// reports every error of the file; what could not be understood is left out of the tree or stands
// in it as an ErrorExpr.
#pragma once

#include "compiler/frontend/syntax/Ast.h"
#include "compiler/frontend/syntax/Diagnostics.h"

namespace attn::frontend {

/// Parses a whole file. Never null and never fails: errors are in `diagnostics`.
/// `part`: where its text is, if it is a file that `file` uses.
std::unique_ptr<ast::File> parse(const SourceFile &file, DiagnosticEngine &diagnostics,
                                 std::optional<SourceRange> part = std::nullopt);

} // namespace attn::frontend
