// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/frontend/syntax/Lexer.h"
#include "gtest/gtest.h"

using namespace attn::frontend;

/// The texts of the tokens with `|` between, then the codes of what was reported.
static std::string lexed(std::string text) {
  SourceFile source("test.attn", std::move(text));
  DiagnosticEngine diagnostics(source);
  TokenStream stream = lex(source, diagnostics);
  std::string result;
  for (const Token &token : llvm::ArrayRef(stream.tokens).drop_back())
    result += (result.empty() ? "" : "|") + token.text.str();
  for (const Diagnostic *diagnostic : diagnostics.sorted())
    result += " " + codeText(diagnostic->code).str();
  EXPECT_TRUE(stream.tokens.back().is(TokenKind::End));
  return result;
}

TEST(Lexer, LongestOperatorWins) {
  EXPECT_EQ(lexed("a<=b<c->d**e*f??g==h!=i"), "a|<=|b|<|c|->|d|**|e|*|f|??|g|==|h|!=|i");
}

TEST(Lexer, IntegersAfterADotAreComponents) {
  EXPECT_EQ(lexed("out_layer.1.weight"), "out_layer|.|1|.|weight");
  EXPECT_EQ(lexed("layers.0.1e5"), "layers|.|0|.|1e5");
  EXPECT_EQ(lexed("x . return"), "x|.|return");
}

TEST(Lexer, Numbers) {
  EXPECT_EQ(lexed("1 1.5 1e-6 1.5E+3 007"), "1|1.5|1e-6|1.5E+3|007");
  EXPECT_EQ(lexed("1e 2"), "1|2 A0007");
  EXPECT_EQ(lexed("3x"), "3 A0007");
  EXPECT_EQ(lexed("1.2.3"), "1.2 A0007");
  EXPECT_EQ(lexed("224x224"), "224|x|224 A0007");
}

TEST(Lexer, CommentsAreKeptAside) {
  SourceFile source("test.attn", "a // one\r\n// two\rb//");
  DiagnosticEngine diagnostics(source);
  TokenStream stream = lex(source, diagnostics);
  ASSERT_EQ(stream.comments.size(), 3u);
  EXPECT_EQ(source.text(stream.comments[0].range), "// one");
  EXPECT_EQ(source.text(stream.comments[1].range), "// two");
  EXPECT_EQ(source.text(stream.comments[2].range), "//");
  EXPECT_EQ(stream.tokens.size(), 3u);
}

TEST(Lexer, Strings) {
  EXPECT_EQ(stringValue("\"a \\\"b\\\" \\\\ 'c'\""), "a \"b\" \\ 'c'");
  EXPECT_EQ(lexed("\"a // b\""), "\"a // b\"");
  EXPECT_EQ(lexed("\"open\nx"), "\"open|x A0004");
  EXPECT_EQ(lexed("'single'"), "'single' A0003");
}

TEST(Lexer, ForeignOperatorsBecomeOurs) {
  EXPECT_EQ(lexed("a && b || !c"), "a|and|b|or|not|c A0120 A0120 A0120");
  EXPECT_EQ(lexed("D→F"), "D|->|F A0120");
}

TEST(Lexer, TextThatIsNone) {
  EXPECT_EQ(lexed(std::string("a\0b", 3)), "a|b A0003");
  EXPECT_EQ(lexed("a $$$ b"), "a|b A0003");
  EXPECT_EQ(lexed("\xEF\xBB\xBF"
                  "attn"),
            "attn");
  EXPECT_EQ(lexed("\xFF\xFE"), "\xFF\xFE A0010");
  EXPECT_EQ(lexed(""), "");
}

TEST(Lexer, RefusesHugeFiles) { EXPECT_EQ(lexed(std::string((16u << 20) + 1, ' ')), " A0009"); }
