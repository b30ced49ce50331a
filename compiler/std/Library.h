// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The library: the `.attn` files of this folder, as they were when the compiler was built.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

namespace attn::library {

/// `use std.attention`: its path is `std.attention`, its name in diagnostics `std/attention.attn`.
struct File {
  llvm::StringRef path, name, text;
};

/// All of them, by path.
llvm::ArrayRef<File> files();
/// Null where there is none of that path.
const File *find(llvm::StringRef path);

} // namespace attn::library
