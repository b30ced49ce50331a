// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The files that a spec uses.
#pragma once

#include "compiler/frontend/sema/Context.h"

namespace attn::frontend {

/// Declares what the files hold that `file` uses, and those that they use; false after an error.
bool declareUses(Sema &sema, const ast::File &file);

} // namespace attn::frontend
