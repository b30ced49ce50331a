// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The files of the library, which the build puts into the compiler as text.
#include "compiler/std/Library.h"

#include "llvm/ADT/STLExtras.h"

namespace attn::library {

llvm::ArrayRef<File> files() {
  static const File all[] = {
#include "compiler/std/Files.inc"
  };
  return all;
}

const File *find(llvm::StringRef path) {
  const File *found = llvm::find_if(files(), [&](const File &file) { return file.path == path; });
  return found == files().end() ? nullptr : found;
}

} // namespace attn::library
