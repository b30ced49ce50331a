// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The files that a spec uses: those of the library, which are part of the compiler, and others
// beside it.
#include "compiler/frontend/sema/blocks/UsedFiles.h"
#include "compiler/frontend/sema/blocks/Declarations.h"
#include "compiler/frontend/syntax/Parser.h"
#include "compiler/std/Library.h"
#include "compiler/support/InputFile.h"

#include "llvm/Support/Path.h"

namespace attn::frontend {

using namespace ast;

constexpr size_t largestUses = 64u << 20;

static std::unique_ptr<File> readUse(Sema &sema, const UseDecl &use, std::set<std::string> &seen) {
  std::string name, text;
  SourceRange place = use.file ? use.file->range : use.path.range;
  if (!use.file) {
    std::string path = use.path.str();
    const library::File *file = library::find(path);
    if (!file) {
      std::vector<llvm::StringRef> paths;
      for (const library::File &other : library::files())
        paths.push_back(other.path);
      Diagnostic &diagnostic =
          sema.report.error(DiagCode::UnknownUse, place, "there is no library `" + path + "`");
      if (auto near = nearestName(path, paths))
        diagnostic.didYouMean(*near);
      else
        diagnostic.note("the library is " + llvm::join(paths, ", ") +
                        "; a file of your own is named in quotes: `use \"blocks.attn\"`");
      return nullptr;
    }
    name = file->name.str();
    text = file->text.str();
  } else {
    // Beside the file that says so.
    llvm::SmallString<128> path(use.file->text);
    if (llvm::sys::path::is_relative(path)) {
      path = llvm::sys::path::parent_path(sema.source.nameAt(place.begin));
      llvm::sys::path::append(path, use.file->text);
    }
    llvm::sys::path::remove_dots(path, /*remove_dot_dot=*/true);
    llvm::Expected<std::string> read = readInputFile(path.str(), largestFile);
    if (!read) {
      sema.report.error(DiagCode::UnknownUse, place,
                        "`" + path + "` cannot be read: " + llvm::toString(read.takeError()));
      return nullptr;
    }
    if (sema.source.size() + read->size() > largestUses) {
      sema.report.error(DiagCode::UnknownUse, place, "the files that this one uses are too large")
          .note("the most are 64 MiB together");
      return nullptr;
    }
    name = path.str().str();
    text = std::move(*read);
  }
  if (name == sema.source.name() || !seen.insert(name).second)
    return std::make_unique<File>(); // it is there
  return parse(sema.source, sema.report.diagnostics, sema.source.use(name, text));
}

bool declareUses(Sema &sema, const File &file) {
  std::set<std::string> seen;
  std::vector<const File *> unread{&file};
  unsigned errors = sema.report.diagnostics.errorCount();
  while (!unread.empty()) {
    const File *next = unread.back();
    unread.pop_back();
    for (const ItemPtr &item : next->items) {
      auto *use = llvm::dyn_cast<UseDecl>(item.get());
      std::unique_ptr<File> read = use ? readUse(sema, *use, seen) : nullptr;
      if (read) {
        unread.push_back(read.get());
        sema.names.usedFiles.push_back(std::move(read));
      } else if (next != &file && !use) {
        if (auto *other = llvm::dyn_cast<ModelDecl>(item.get()))
          sema.report
              .error(DiagCode::SeveralModels, other->name.range, "a file that is used has no model")
              .help("use a file of blocks, scores, biases and masks");
        else
          declareItem(sema, sema.names.used, *item);
      }
    }
  }
  return sema.report.diagnostics.errorCount() == errors;
}

} // namespace attn::frontend
