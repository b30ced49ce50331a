// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The examples with words, numbers and lines changed: building a model must end, with a verified
// module or with errors of the spec, never with one of the compiler.
#include "Models.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "gtest/gtest.h"
#include <random>

using namespace attn::frontend;
using namespace attn::frontend::test;

constexpr unsigned seed = 20261121;

/// ATTN_FULL_TESTS=1 asks for more of them.
static unsigned rounds(unsigned few) {
  const char *isFull = getenv("ATTN_FULL_TESTS");
  return isFull && llvm::StringRef(isFull) == "1" ? 20 * few : few;
}

static const std::vector<std::string> &examples() {
  static const std::vector<std::string> texts = [] {
    std::vector<std::string> found;
    std::error_code failure;
    for (llvm::sys::fs::recursive_directory_iterator it(ATTN_SOURCE_DIR "/examples", failure), end;
         it != end && !failure; it.increment(failure))
      if (llvm::sys::path::extension(it->path()) == ".attn")
        found.push_back(llvm::MemoryBuffer::getFile(it->path()).get()->getBuffer().str());
    llvm::sort(found);
    return found;
  }();
  return texts;
}

static void check(const std::string &text) {
  Built built(text);
  bool failed = built.diagnostics.hasErrors();
  ASSERT_EQ(failed, !built.module) << text;
  ASSERT_LE(built.diagnostics.errorCount(), 205u) << text;
  for (const Diagnostic *diagnostic : built.diagnostics.sorted())
    ASSERT_NE(diagnostic->code, DiagCode::InternalError) << diagnostic->message << "\n" << text;
}

/// Words, and what stands between them.
static std::vector<std::string> pieces(const std::string &text) {
  std::vector<std::string> words;
  for (size_t i = 0; i < text.size();) {
    size_t begin = i++;
    if (llvm::isAlnum(text[begin]))
      while (i < text.size() && (llvm::isAlnum(text[i]) || text[i] == '_' || text[i] == '.'))
        ++i;
    words.push_back(text.substr(begin, i - begin));
  }
  return words;
}

TEST(ModelMutation, TheExamplesAreRight) {
  ASSERT_GE(examples().size(), 4u);
  for (const std::string &text : examples())
    EXPECT_EQ(Built(text).errors(), "");
}

/// A name for a name, a number for a number: what still parses.
TEST(ModelMutation, ChangedNamesAndNumbers) {
  std::mt19937 random(seed);
  static constexpr const char *numbers[] = {
      "0",   "1",    "2", "3", "7", "4096", "2147483647", "4294967296", "9223372036854775807",
      "0.5", "1e300"};
  for (const std::string &text : examples()) {
    std::vector<std::string> words = pieces(text), names;
    for (const std::string &word : words)
      if (llvm::isAlpha(word[0]))
        names.push_back(word);
    for (unsigned round = 0; round < rounds(300); ++round) {
      std::vector<std::string> broken = words;
      for (unsigned edits = 1 + random() % 3; edits;) {
        std::string &word = broken[random() % broken.size()];
        if (!llvm::isAlnum(word[0]))
          continue;
        word = llvm::isDigit(word[0]) ? numbers[random() % std::size(numbers)]
                                      : names[random() % names.size()];
        --edits;
      }
      check(llvm::join(broken, ""));
    }
  }
}

TEST(ModelMutation, MovedLines) {
  std::mt19937 random(seed + 1);
  for (const std::string &text : examples()) {
    llvm::SmallVector<llvm::StringRef> lines;
    llvm::StringRef(text).split(lines, '\n');
    for (unsigned round = 0; round < rounds(200); ++round) {
      llvm::SmallVector<llvm::StringRef> broken = lines;
      for (unsigned edits = 1 + random() % 3; edits; --edits) {
        size_t at = 1 + random() % (broken.size() - 1), other = 1 + random() % (broken.size() - 1);
        switch (random() % 3) {
        case 0:
          broken.erase(broken.begin() + at);
          break;
        case 1:
          std::swap(broken[at], broken[other]);
          break;
        case 2: {
          llvm::StringRef line = broken[at];
          broken.insert(broken.begin() + other, line);
          break;
        }
        }
      }
      check(llvm::join(broken, "\n"));
    }
  }
}

/// Letters, brackets and arrows of patterns and signatures.
TEST(ModelMutation, ChangedBytes) {
  std::mt19937 random(seed + 2);
  for (const std::string &text : examples())
    for (unsigned round = 0; round < rounds(300); ++round) {
      std::string broken = text;
      size_t at = random() % broken.size();
      if (random() % 2)
        broken[at] = "abcdpqxyBDEHNT019()[],;:=->*/+"[random() % 30];
      else
        broken.erase(at, 1 + random() % 3);
      check(broken);
    }
}
