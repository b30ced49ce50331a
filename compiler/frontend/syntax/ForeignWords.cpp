// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Looks words up in the table of ForeignWords.def.
#include "compiler/frontend/syntax/ForeignWords.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

namespace attn::frontend {

namespace {
struct ForeignRow {
  ForeignPlace place;
  llvm::StringLiteral words, meant, advice;
};
} // namespace

static constexpr ForeignRow foreignRows[] = {
#define ATTN_FOREIGN(place, words, advice) {ForeignPlace::place, words, "", advice},
#define ATTN_FOREIGN_WORD(place, words, meant, advice) {ForeignPlace::place, words, meant, advice},
#include "compiler/frontend/syntax/ForeignWords.def"
};

std::string plainSpelling(llvm::StringRef word) {
  std::string plain = word.substr(word.rfind('.') + 1).lower();
  llvm::erase(plain, '_');
  return plain;
}

Advice adviceFor(ForeignPlace place, llvm::StringRef word) {
  std::string plain = plainSpelling(word);
  for (const ForeignRow &row : foreignRows) {
    llvm::SmallVector<llvm::StringRef> words;
    row.words.split(words, ' ');
    if (row.place == place && llvm::is_contained(words, plain))
      return {row.advice, row.meant};
  }
  return {};
}

bool advise(Diagnostic &diagnostic, ForeignPlace place, llvm::StringRef word) {
  Advice advice = adviceFor(place, word);
  if (advice.text.empty())
    return false;
  bool isWord = diagnostic.range && !advice.meant.empty();
  diagnostic.help(advice.text, isWord ? std::optional(Edit{*diagnostic.range, advice.meant.str()})
                                      : std::nullopt);
  return true;
}

} // namespace attn::frontend
