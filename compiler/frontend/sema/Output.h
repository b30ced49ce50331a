// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The header of the module, its symbols, and what an editor is told of types.
#pragma once

#include "compiler/frontend/sema/Context.h"

namespace attn::frontend {

/// Lets the header's builder go on behind the last dim or parameter.
void headerHere(Output &output);

/// A symbol of the module that is not taken: `name`, or that with a number behind it.
std::string uniqueSymbol(Output &output, llvm::StringRef name);

/// Tells an editor what stands at `range` (FrontendOptions::types): a value of the model, or in
/// words what it is.
void recordType(Sema &sema, SourceRange range, const SemaValue &value);
void recordType(Sema &sema, SourceRange range, const llvm::Twine &words);

} // namespace attn::frontend
