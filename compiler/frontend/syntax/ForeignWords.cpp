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
  llvm::StringLiteral words, advice;
};
} // namespace

static constexpr ForeignRow foreignRows[] = {
#define ATTN_FOREIGN(place, words, advice) {ForeignPlace::place, words, advice},
#include "compiler/frontend/syntax/ForeignWords.def"
};

std::string plainSpelling(llvm::StringRef word) {
  std::string plain = word.substr(word.rfind('.') + 1).lower();
  llvm::erase(plain, '_');
  return plain;
}

llvm::StringRef adviceFor(ForeignPlace place, llvm::StringRef word) {
  std::string plain = plainSpelling(word);
  for (const ForeignRow &row : foreignRows) {
    llvm::SmallVector<llvm::StringRef> words;
    row.words.split(words, ' ');
    if (row.place == place && llvm::is_contained(words, plain))
      return row.advice;
  }
  return "";
}

} // namespace attn::frontend
