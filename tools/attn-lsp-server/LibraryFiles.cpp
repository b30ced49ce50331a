// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The library's files to declarations.
#include "LibraryFiles.h"

#include "compiler/frontend/syntax/Parser.h"
#include "compiler/std/Library.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Support/xxhash.h"

namespace attn::lsp {

using namespace attn::frontend;

llvm::ArrayRef<LibraryDeclaration> libraryDeclarations() {
  static const std::vector<LibraryDeclaration> all = [] {
    static std::vector<std::unique_ptr<ast::File>> trees;
    std::vector<LibraryDeclaration> found;
    for (const library::File &file : library::files()) {
      SourceFile source(file.name.str(), file.text.str());
      DiagnosticEngine errors(source);
      trees.push_back(parse(source, errors));
      for (Declaration &declaration : declarationsOf(*trees.back(), source))
        if (declaration.scope.end == UINT32_MAX)
          found.push_back({file.path, std::move(declaration)});
    }
    return found;
  }();
  return all;
}

/// Writes a file as a whole, which nobody can change afterwards.
static bool writeReadOnly(llvm::StringRef path, llvm::StringRef text) {
  namespace fs = llvm::sys::fs;
  auto write = [&](llvm::raw_ostream &os) {
    os << text;
    return llvm::Error::success();
  };
  if (fs::create_directories(llvm::sys::path::parent_path(path)))
    return false;
  if (llvm::Error error = llvm::writeToOutput(path, write)) {
    llvm::consumeError(std::move(error));
    return false;
  }
  return !fs::setPermissions(path, fs::owner_read | fs::group_read | fs::others_read);
}

std::optional<std::string> libraryFile(llvm::StringRef name) {
  auto *file = llvm::find_if(library::files(), [&](auto &own) { return own.name == name; });
  llvm::SmallString<128> path;
  if (file == library::files().end() || !llvm::sys::path::cache_directory(path))
    return std::nullopt;
  // Another version of the library has another folder.
  uint64_t all = 0;
  for (const library::File &own : library::files())
    all ^= llvm::xxh3_64bits(own.text);
  llvm::sys::path::append(path, "attn", "std-" + llvm::utohexstr(all, /*LowerCase=*/true),
                          llvm::sys::path::filename(name));
  auto there = llvm::MemoryBuffer::getFile(path);
  if (!there || (*there)->getBuffer() != file->text)
    if (!writeReadOnly(path, file->text))
      return std::nullopt;
  return path.str().str();
}

} // namespace attn::lsp
