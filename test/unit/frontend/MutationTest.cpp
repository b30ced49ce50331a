// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Broken specs: cut off, with bytes and words changed. Parsing must end, with a tree; one without
// errors must format, and format to the same again.
#include "Specs.h"
#include "llvm/ADT/StringExtras.h"
#include "gtest/gtest.h"
#include <random>

using namespace attn::frontend;
using namespace attn::frontend::test;

constexpr unsigned seed = 20261121;

static void check(const std::string &text) {
  Parsed parsed(text);
  ASSERT_NE(parsed.file, nullptr);
  std::string shown = parsed.errors();
  EXPECT_EQ(shown.empty(), !parsed.diagnostics.hasErrors());
  EXPECT_LE(parsed.diagnostics.errorCount(), 205u);
  if (parsed.diagnostics.hasErrors())
    return;
  std::string once = parsed.formatted();
  Parsed again(once);
  ASSERT_EQ(again.errors(), "") << text << "\n" << once;
  ASSERT_EQ(again.formatted(), once) << text;
}

static std::vector<std::string> pieces(const std::string &text) {
  std::vector<std::string> words;
  for (size_t i = 0; i < text.size();) {
    size_t begin = i++;
    if (llvm::isAlnum(text[begin]))
      while (i < text.size() && llvm::isAlnum(text[i]))
        ++i;
    words.push_back(text.substr(begin, i - begin));
  }
  return words;
}

TEST(Mutation, EveryTruncation) {
  for (std::string text : {std::string(visionTransformer), std::string(everyForm)})
    for (size_t length = 0; length < text.size(); ++length)
      check(text.substr(0, length));
}

TEST(Mutation, ChangedBytes) {
  std::mt19937 random(seed);
  for (std::string text : {std::string(visionTransformer), std::string(everyForm)})
    for (unsigned round = 0; round < 1500; ++round) {
      std::string broken = text;
      for (unsigned edits = 1 + random() % 4; edits; --edits) {
        size_t at = random() % broken.size();
        switch (random() % 3) {
        case 0:
          broken[at] = static_cast<char>(random());
          break;
        case 1:
          broken.erase(at, 1 + random() % 8);
          break;
        case 2:
          broken.insert(at, 1, "{}()[],;:=.\"@+-*/"[random() % 17]);
          break;
        }
      }
      check(broken);
    }
}

TEST(Mutation, ChangedWords) {
  std::mt19937 random(seed);
  std::vector<std::string> words = pieces(visionTransformer);
  std::vector<std::string> others = pieces(everyForm);
  for (unsigned round = 0; round < 3000; ++round) {
    std::vector<std::string> broken = words;
    for (unsigned edits = 1 + random() % 3; edits; --edits) {
      size_t at = random() % broken.size();
      switch (random() % 3) {
      case 0:
        broken[at] = others[random() % others.size()];
        break;
      case 1:
        broken.erase(broken.begin() + at);
        break;
      case 2:
        broken.insert(broken.begin() + at, others[random() % others.size()]);
        break;
      }
    }
    check(llvm::join(broken, ""));
  }
}
