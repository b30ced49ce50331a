// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// REFERENCE.md, which the build puts into the server, to what it says of one word.
#include "Reference.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/Regex.h"

namespace attn::lsp {

static constexpr llvm::StringLiteral reference =
#include "tools/attn-lsp-server/Reference.inc"
    ;

/// Whether a heading such as `sum, mean, max and min` names a word.
static bool names(llvm::StringRef heading, llvm::StringRef word) {
  llvm::SmallVector<llvm::StringRef> words;
  llvm::SplitString(heading, words, ", ");
  bool isList = llvm::all_of(llvm::enumerate(words), [&](auto entry) {
    return entry.index() % 2 == 0 || heading.contains(',') || entry.value() == "and";
  });
  return isList && word != "and" && llvm::is_contained(words, word);
}

/// Whether a line begins with the word as code, alone or applied to something.
static bool beginsWith(llvm::StringRef line, llvm::StringRef word) {
  return line.consume_front("`") && line.consume_front(word) && !line.empty() &&
         !llvm::isAlnum(line.front()) && line.front() != '_';
}

/// Links of the page as their texts.
static std::string withoutLinks(llvm::StringRef text) {
  static const llvm::Regex link("\\[([^]]*)\\]\\(#[^)]*\\)");
  std::string plain = text.str();
  llvm::SmallVector<llvm::StringRef> parts;
  while (link.match(plain, &parts)) {
    size_t at = parts[0].data() - plain.data();
    std::string words = parts[1].str();
    plain.replace(at, parts[0].size(), words);
  }
  return plain;
}

std::string referenceOf(llvm::StringRef word) {
  llvm::SmallVector<llvm::StringRef> lines;
  reference.split(lines, '\n');
  std::string row, rule;
  for (size_t i = 0; i < lines.size(); ++i) {
    llvm::StringRef line = lines[i];
    if (line.consume_front("### ") && names(line, word)) {
      size_t end = i + 1;
      while (end < lines.size() && !lines[end].starts_with("#"))
        ++end;
      return withoutLinks(
          llvm::join(llvm::ArrayRef(lines).slice(i + 1, end - i - 1), "\n").erase(0, 1));
    }
    if (line.consume_front("| ") && row.empty()) {
      auto [first, rest] = line.split(" | ");
      llvm::SmallVector<llvm::StringRef> cells;
      first.split(cells, ", ");
      if (llvm::any_of(cells, [&](llvm::StringRef cell) { return beginsWith(cell, word); }))
        row = (first + ": " + rest.rtrim(" |")).str();
    }
    line = line.ltrim("0123456789");
    if (line.consume_front(". ") && rule.empty() && beginsWith(line, word))
      rule = line.str();
  }
  return withoutLinks(row.empty() ? rule : row);
}

} // namespace attn::lsp
