// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The library as an editor sees it: what it declares, and its files to look at.
#pragma once

#include "Declarations.h"

namespace attn::lsp {

/// A block or a hook of the library.
struct LibraryDeclaration {
  llvm::StringRef path; ///< Of the file, as after `use`.
  Declaration declaration;
};

/// What all files of the library declare outside of braces. They live as long as the process.
llvm::ArrayRef<LibraryDeclaration> libraryDeclarations();

/// The path of a file of the library, by its name in diagnostics, `std/attention.attn`: a copy that
/// cannot be written to, in `attn` of the user's folder for caches. None for a name that is no such
/// file's, and where the copy cannot be made.
std::optional<std::string> libraryFile(llvm::StringRef name);

} // namespace attn::lsp
