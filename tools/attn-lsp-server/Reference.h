// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The reference of the language, as it was when the server was built.
#pragma once

#include "llvm/ADT/StringRef.h"
#include <string>

namespace attn::lsp {

/// What the reference says of a word of the language, in Markdown: the section of that name, the
/// row of a table or the rule that begins with the word. Empty where it says nothing.
std::string referenceOf(llvm::StringRef word);

} // namespace attn::lsp
