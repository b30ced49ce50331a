// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The C interface of tokenizers: offsets, special tokens, invalid bytes, decoding token by token,
// arguments that are wrong.
#include "Tokenizers.h"

using namespace attn::test;

TEST(TextTest, OffsetsAreBytesOfTheText) {
  Tokenizer tokenizer(wordTokenizer);
  Encoded encoded = tokenizer.encode("Ab  b!");
  EXPECT_EQ((std::vector<int>{2, 1, 0}), encoded.ids);
  EXPECT_EQ((std::vector<Span>{{0, 2}, {4, 5}, {5, 6}}), encoded.spans);
}

TEST(TextTest, InvalidBytesCountAsReplacementCharacters) {
  Tokenizer tokenizer(byteLevel());
  // A lone continuation, a truncated character of four bytes, a surrogate in three parts.
  std::string text = "a\x80"
                     "b\xf0\x9f\x98"
                     "c\xed\xa0\x80";
  Encoded encoded = tokenizer.encode(text);
  std::string replaced = "a\xef\xbf\xbd"
                         "b\xef\xbf\xbd"
                         "c\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd";
  EXPECT_EQ(tokenizer.encode(replaced).ids, encoded.ids);
  EXPECT_EQ(replaced, tokenizer.decode(encoded.ids));
  EXPECT_EQ((Span{1, 2}), encoded.spans[1]);
  EXPECT_EQ((Span{3, 6}), encoded.spans[5]);
}

TEST(TextTest, NulIsACharacter) {
  Tokenizer tokenizer(byteLevel());
  std::string text("a\0b", 3);
  EXPECT_EQ(text, tokenizer.decode(tokenizer.encode(text).ids));
}

TEST(TextTest, SpecialTokensInTexts) {
  Tokenizer tokenizer(wordTokenizer);
  EXPECT_EQ((std::vector<int>{1, 3}), tokenizer.encode("b</s>").ids);
  EXPECT_EQ((std::vector<int>{1, 0, 0, 0}),
            tokenizer.encode("b</s>", ATTN_TEXT_SPECIAL_AS_TEXT).ids);
  EXPECT_EQ((std::vector<int>{1, 3}), tokenizer.encode("b", ATTN_TEXT_ADD_SPECIAL).ids);
  EXPECT_TRUE(attn_tokenizer_is_special(tokenizer.get(), 3));
  EXPECT_FALSE(attn_tokenizer_is_special(tokenizer.get(), 1));
  EXPECT_FALSE(attn_tokenizer_is_special(tokenizer.get(), 99));
  EXPECT_EQ("b", tokenizer.decode({1, 3}, true));
  EXPECT_EQ("b </s>", tokenizer.decode({1, 3}));
}

TEST(TextTest, PaddingIsToldFromSpecialTokens) {
  Tokenizer tokenizer(R"({"padding": {"strategy": {"Fixed": 4}, "direction": "Left", "pad_id": 7},
    "truncation": {"max_length": 3},)" +
                      std::string(wordTokenizer).substr(1));
  int all = ATTN_TEXT_ADD_SPECIAL | ATTN_TEXT_TRUNCATE | ATTN_TEXT_PAD;
  Encoded encoded = tokenizer.encode("b", all);
  EXPECT_EQ((std::vector<int>{7, 7, 1, 3}), encoded.ids);
  EXPECT_EQ((std::vector<int>{ATTN_TOKEN_PADDING, ATTN_TOKEN_PADDING, ATTN_TOKEN_TEXT,
                              ATTN_TOKEN_SPECIAL}),
            encoded.origins);
  EXPECT_EQ((std::vector<int>{7, 1, 1, 3}), tokenizer.encode("b b b b", all).ids);
  EXPECT_EQ((std::vector<int>{1, 1, 1, 1}), tokenizer.encode("b b b b").ids);
}

TEST(TextTest, TokensByNameAndByNumber) {
  Tokenizer tokenizer(wordTokenizer);
  size_t size = 0;
  EXPECT_EQ(5, attn_tokenizer_size(tokenizer.get()));
  EXPECT_EQ(2, attn_tokenizer_find(tokenizer.get(), "Ab", 2));
  EXPECT_EQ(3, attn_tokenizer_find(tokenizer.get(), "</s>", 4));
  EXPECT_EQ(-1, attn_tokenizer_find(tokenizer.get(), "c", 1));
  EXPECT_STREQ("</s>", attn_tokenizer_token(tokenizer.get(), 3, &size));
  EXPECT_EQ(4u, size);
  EXPECT_EQ(nullptr, attn_tokenizer_token(tokenizer.get(), 5, &size));
  EXPECT_EQ(nullptr, attn_tokenizer_token(tokenizer.get(), -1, nullptr));
}

TEST(TextTest, DecodingHoldsBackWhatIsNotComplete) {
  Tokenizer tokenizer(byteLevel());
  std::vector<int> ids = tokenizer.encode("\xf0\x9f\x98\x80!").ids;
  ASSERT_EQ(5u, ids.size());
  Stream stream(tokenizer);
  EXPECT_EQ("", stream.add(ids[0]));
  EXPECT_EQ("", stream.add(ids[1]));
  EXPECT_EQ("", stream.add(ids[2]));
  EXPECT_EQ("\xf0\x9f\x98\x80", stream.add(ids[3]));
  EXPECT_EQ("!", stream.add(ids[4]));
  EXPECT_EQ("", stream.finish());
  EXPECT_EQ("", stream.add(ids[0]));
  EXPECT_EQ("\xef\xbf\xbd", stream.finish());
  EXPECT_EQ("", stream.add(ids[0]));
  EXPECT_EQ("\xef\xbf\xbd!", stream.add(ids[4]));
}

TEST(TextTest, DecodingFollowsAPrompt) {
  Tokenizer words(wordTokenizer);
  Stream stream(words);
  EXPECT_EQ("b", stream.add(1));
  stream.follow({2, 4, 2, 4, 2, 4});
  EXPECT_EQ(" b", stream.add(1));
  EXPECT_EQ(" Ab", stream.add(2));
  EXPECT_EQ("", stream.finish());
  EXPECT_EQ("b", stream.add(1));
  // Characters that lie in the prompt and behind it are as in a text of both.
  Tokenizer bytes(byteLevel());
  Stream other(bytes);
  std::vector<int> ids = bytes.encode("a\xf0\x9f\x98\x80").ids;
  other.follow({ids.begin(), ids.end() - 1});
  EXPECT_EQ("", other.add(5000));
  EXPECT_EQ("a", other.add(ids[0]));
}

TEST(TextTest, DecodingGoesOnAfterAnError) {
  Tokenizer tokenizer(byteLevel());
  Stream stream(tokenizer);
  int a = tokenizer.encode("a").ids[0];
  EXPECT_EQ("a", stream.add(a));
  EXPECT_EQ("error[R0704]: -5 is no token", stream.add(-5));
  EXPECT_EQ("a", stream.add(a));
  EXPECT_EQ("", stream.add(5000));
  EXPECT_EQ("a", stream.add(a));
}

TEST(TextTest, SpacesBeforePunctuationAreHeldBack) {
  std::string bytes = "attn tokenizer 1\n", json = byteLevel();
  std::string config = R"({"clean_up_tokenization_spaces": true})";
  bytes += std::to_string(json.size()) + " tokenizer.json\n" + json;
  bytes += std::to_string(config.size()) + " tokenizer_config.json\n" + config;
  Tokenizer tokenizer(bytes);
  ASSERT_EQ("", tokenizer.message);
  std::vector<int> ids = tokenizer.encode("a . b n't c ' d 'r !").ids;
  EXPECT_EQ("a. bn't c'd 'r!", tokenizer.decode(ids));
  Stream stream(tokenizer);
  std::string text;
  for (int id : ids)
    text += stream.add(id);
  EXPECT_EQ("a. bn't c'd 'r!", text + stream.finish());
}

TEST(TextTest, WhatAVocabularyCannotSay) {
  Tokenizer tokenizer(R"({"model": {"type": "WordPiece", "vocab": {"a": 0}}})");
  EXPECT_EQ("error[R0704]: a part of the text is in no token, and the vocabulary has none for what "
            "it does not know",
            tokenizer.encode("b").message);
  char *text = nullptr, *message = nullptr;
  int32_t ids[] = {0, -1};
  EXPECT_EQ(ATTN_BAD_INPUT,
            attn_tokenizer_decode(tokenizer.get(), ids, 2, 0, &text, nullptr, &message));
  EXPECT_STREQ("error[R0704]: -1 is no token", message);
  EXPECT_EQ(nullptr, text);
  attn_message_free(message);
}

TEST(TextTest, NullPointersAndUnknownFlags) {
  Tokenizer tokenizer(wordTokenizer);
  attn_tokens tokens = {};
  char *message = nullptr;
  EXPECT_EQ(ATTN_INVALID_ARGUMENT, attn_tokenizer_open(nullptr, nullptr, nullptr));
  EXPECT_EQ(ATTN_INVALID_ARGUMENT, attn_tokenizer_open_memory(nullptr, 0, nullptr, nullptr));
  EXPECT_EQ(ATTN_INVALID_ARGUMENT,
            attn_tokenizer_encode(tokenizer.get(), nullptr, 1, 0, &tokens, nullptr));
  EXPECT_EQ(ATTN_INVALID_ARGUMENT,
            attn_tokenizer_encode(tokenizer.get(), "a", 1, 16, &tokens, &message));
  EXPECT_STREQ("error[R0101]: attn_tokenizer_encode: flags 16; known are 1, 2, 4 and 8, added up",
               message);
  attn_message_free(message);
  EXPECT_EQ(ATTN_INVALID_ARGUMENT,
            attn_tokenizer_decode(tokenizer.get(), nullptr, 1, 0, nullptr, nullptr, nullptr));
  EXPECT_EQ(ATTN_INVALID_ARGUMENT, attn_decoding_create(nullptr, 0, nullptr, nullptr));
  EXPECT_EQ(ATTN_INVALID_ARGUMENT, attn_decoding_follow(nullptr, nullptr, 0, nullptr));
  EXPECT_EQ(ATTN_INVALID_ARGUMENT, attn_decoding_add(nullptr, 0, nullptr, nullptr, nullptr));
  EXPECT_EQ(0, attn_tokenizer_size(nullptr));
  attn_tokenizer_destroy(nullptr);
  attn_decoding_destroy(nullptr);
  attn_tokens_free(nullptr);
}

TEST(TextTest, ManyMarksOnALetterTakeLinearTime) {
  Tokenizer tokenizer(R"({"normalizer": {"type": "NFC"}, "model": {"type": "WordLevel",
                          "vocab": {"a": 0}, "unk_token": "a"}})");
  std::string text = "a";
  for (int i = 0; i < 200000; ++i)
    text += i % 2 ? "\xcc\x81" : "\xcc\xa3"; // above and below in turn
  EXPECT_EQ(1u, tokenizer.encode(text).ids.size());
}

TEST(TextTest, LongWordsTakeNLogNSteps) {
  Tokenizer tokenizer(byteLevel());
  std::string text(1000000, 'a');
  EXPECT_EQ(500000u, tokenizer.encode(text).ids.size()) << "pairs of a";
}
