// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// JSON as a tree, and the small parts that tokenizers are made of: base64, tries, tables.
#include "text/steps/JsonTree.h"
#include "text/steps/Charsmap.h"
#include "text/steps/Vocabulary.h"
#include <gtest/gtest.h>
#include <random>
#include <string>

using namespace attn;

TEST(JsonTreeTest, WalksInAnyOrder) {
  JsonTree tree;
  ASSERT_TRUE(
      tree.read(Slice(R"({"a": [1, -2.5e1, "x\u0000\u00e9", {}], "b": {"c": null}, "a2": true})")));
  JsonValue root = tree.root(), list = root.find("a");
  EXPECT_EQ(3u, root.count());
  EXPECT_EQ(4u, list.count());
  int64_t whole = 0;
  double number = 0;
  JsonValue value = list.first();
  EXPECT_TRUE(value.integer(1, 1, whole));
  EXPECT_FALSE(value.integer(2, 9, whole));
  value = value.next();
  EXPECT_FALSE(value.integer(-100, 100, whole));
  ASSERT_TRUE(value.number(number));
  EXPECT_EQ(-25.0, number);
  value = value.next();
  EXPECT_TRUE(value.text() == Slice("x\0\xc3\xa9", 4));
  value = value.next();
  EXPECT_TRUE(value.isObject() && !value.first().exists() && !value.next().exists());
  Text path;
  value.appendPath(path);
  EXPECT_STREQ("a[3]", path.c_str());
  EXPECT_TRUE(root.find("b").find("c").exists());
  EXPECT_FALSE(root.find("b").find("c").isSet());
  EXPECT_FALSE(root.find("x").find("y").first().exists());
}

TEST(JsonTreeTest, SaysWhereItIsWrong) {
  JsonTree tree;
  EXPECT_FALSE(tree.read(Slice("{\"a\": [1, 2}")));
  EXPECT_STREQ("expected `,` or `]`", tree.problem);
  EXPECT_EQ(11u, tree.position);
  EXPECT_FALSE(JsonTree().read(Slice("{} x")));
}

TEST(Base64Test, Decodes) {
  Vector<char> bytes;
  ASSERT_TRUE(decodeBase64(Slice("TWFu"), bytes));
  EXPECT_TRUE(Slice(bytes).is("Man"));
  ASSERT_TRUE(decodeBase64(Slice("TWE="), bytes));
  EXPECT_TRUE(Slice(bytes).is("Ma"));
  ASSERT_TRUE(decodeBase64(Slice("TQ=="), bytes));
  EXPECT_TRUE(Slice(bytes).is("M"));
  EXPECT_FALSE(decodeBase64(Slice("T"), bytes));
  EXPECT_FALSE(decodeBase64(Slice("TW!u"), bytes));
}

TEST(VocabularyTest, FindsWhatWasAdded) {
  Vocabulary vocabulary;
  for (int id = 0; id < 5000; ++id)
    ASSERT_TRUE(vocabulary.add(id * 3, Slice(std::to_string(id * id).c_str())));
  for (int id = 0; id < 5000; ++id) {
    std::string token = std::to_string(id * id);
    EXPECT_EQ(id * 3, vocabulary.find(Slice(token.c_str())));
    EXPECT_TRUE(vocabulary.token(id * 3).is(token.c_str()));
    EXPECT_EQ(nullptr, vocabulary.token(id * 3 + 1).data);
  }
  EXPECT_EQ(-1, vocabulary.find(Slice("x")));
  ASSERT_TRUE(vocabulary.add(1, Slice("4")));
  EXPECT_EQ(1, vocabulary.find(Slice("4"))) << "the last one of two";
}

TEST(ByteTrieTest, FindsTheLongest) {
  ByteTrie trie;
  ASSERT_TRUE(trie.add(Slice("a"), 1) && trie.add(Slice("abc"), 2) && trie.add(Slice("b"), 3));
  size_t length = 0;
  EXPECT_EQ(2, trie.longest(Slice("abcd"), length));
  EXPECT_EQ(3u, length);
  EXPECT_EQ(1, trie.longest(Slice("abd"), length));
  EXPECT_EQ(1u, length);
  EXPECT_EQ(-1, trie.longest(Slice("c"), length));
  EXPECT_EQ(-1, ByteTrie().longest(Slice("c"), length));
}

/// Damaged tables are refused or read within their bounds: AddressSanitizer sees the rest.
TEST(CharsmapTest, SurvivesDamage) {
  std::mt19937 random(1);
  for (int turn = 0; turn < 2000; ++turn) {
    std::string bytes(4 + 64 + 8, 0);
    for (char &c : bytes)
      c = char(random() % 4 ? random() % 8 : random());
    bytes[0] = 64;
    bytes[1] = bytes[2] = bytes[3] = 0;
    bytes.back() = 0;
    Charsmap map;
    Slice replacement;
    size_t length = 0;
    std::string text = "\x01\x02\x03\x04\x05\x06";
    if (map.open(Slice(bytes.data(), bytes.size())) &&
        map.find(Slice(text.c_str()), turn % 2, replacement, length)) {
      EXPECT_LE(length, text.size());
      EXPECT_LE(replacement.size, 8u);
    }
  }
}
