// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is written here for a word of another library or language.
#pragma once

#include "compiler/frontend/syntax/Diagnostics.h"

namespace attn::frontend {

/// Where a word stands.
enum class ForeignPlace { Item, Line, Function, Score };

/// What to write instead of a word.
struct Advice {
  llvm::StringRef text;  ///< As a help; empty where it is not known.
  llvm::StringRef meant; ///< What takes the place of the word, where that is all; else empty.
};

/// What to write instead of `word` (ForeignWords.def).
Advice adviceFor(ForeignPlace place, llvm::StringRef word);

/// Adds what to write instead of `word`, which is at the place of the finding; false where it is
/// not known.
bool advise(Diagnostic &diagnostic, ForeignPlace place, llvm::StringRef word);

/// A word without what people write in different ways: case, `_`, and a path before it.
std::string plainSpelling(llvm::StringRef word);

} // namespace attn::frontend
