// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names that are unknown or unused: which was meant, and what is warned of at the end.
#pragma once

#include "compiler/frontend/sema/Context.h"

namespace attn::frontend {

/// The scope, `from` or one around it, in which `decl` was declared.
Scope &declaringScope(Scope &from, const Decl &decl);

/// The name of an axis that a mend introduces: one that is not declared, `S` if that is free.
std::string unusedAxis(Sema &sema);

/// Adds "did you mean" where a name in scope is near.
void suggest(Sema &sema, Diagnostic &diagnostic, llvm::StringRef name,
             llvm::function_ref<bool(const Decl &)> filter = nullptr);

/// Remembers what of `scope` is unused; said at the end, if there are no errors.
void noteUnused(Sema &sema, Scope &scope);

/// Warns of what `noteUnused` has found unused.
void warnUnused(Sema &sema);

} // namespace attn::frontend
