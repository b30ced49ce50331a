// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What is written here for a word of another library or language.
#pragma once

#include "llvm/ADT/StringRef.h"
#include <string>

namespace attn::frontend {

/// Where a word stands.
enum class ForeignPlace { Item, Line, Function, Score };

/// What to write instead of `word`, as a help; empty where it is not known (ForeignWords.def).
llvm::StringRef adviceFor(ForeignPlace place, llvm::StringRef word);

/// A word without what people write in different ways: case, `_`, and a path before it.
std::string plainSpelling(llvm::StringRef word);

} // namespace attn::frontend
