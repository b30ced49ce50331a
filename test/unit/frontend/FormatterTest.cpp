// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "Specs.h"
#include "gtest/gtest.h"

using namespace attn::frontend;
using namespace attn::frontend::test;

/// Formats, expects that formatting again changes nothing.
static std::string formatted(const std::string &text) {
  Parsed once(text);
  EXPECT_EQ(once.errors(), "");
  std::string result = once.formatted();
  Parsed twice(result);
  EXPECT_EQ(twice.errors(), "") << result;
  EXPECT_EQ(twice.formatted(), result);
  return result;
}

/// One item in a model, without what is around it.
static std::string item(const std::string &text) {
  std::string result = formatted("attn 1\nmodel M {\n" + text + "\n}\n");
  llvm::StringRef inner(result);
  inner.consume_front("attn 1\nmodel M {\n");
  inner.consume_back("}\n");
  return inner.str();
}

TEST(Formatter, FormattedSpecsStayAsTheyAre) {
  EXPECT_EQ(formatted(visionTransformer), visionTransformer);
  EXPECT_EQ(formatted(everyForm), everyForm);
}

TEST(Formatter, WhiteSpaceHasNoMeaning) {
  std::string squeezed;
  for (char c : std::string(visionTransformer))
    squeezed += c == '\n' ? std::string("\r\n") : c == ' ' ? std::string("\t ") : std::string(1, c);
  EXPECT_EQ(Parsed(squeezed).errors(), "");
  EXPECT_EQ(
      formatted("attn 1 model M{dim D=1,E=D*2 dyn B<=4 linear a.b:D,E->E bias}"),
      "attn 1\nmodel M {\n  dim D = 1, E = D * 2\n  dyn B <= 4\n  linear a.b: D, E -> E bias\n}\n");
}

TEST(Formatter, EmptyBodiesAndFiles) {
  EXPECT_EQ(formatted("attn 1"), "attn 1\n");
  EXPECT_EQ(formatted("attn 1 model M { }"), "attn 1\nmodel M {}\n");
  EXPECT_EQ(formatted("attn 1 model M { // later\n }"), "attn 1\nmodel M {  // later\n}\n");
}

TEST(Formatter, CommentsStayWithWhatTheyAreAbout) {
  EXPECT_EQ(item("  // before\n  dim D = 1, // width\n    E = 2 // depth\n\n\n  // last"),
            "  // before\n  dim D = 1,  // width\n    E = 2  // depth\n\n  // last\n");
  EXPECT_EQ(item("  dim D = // what\n 1"), "  // what\n  dim D = 1\n");
  EXPECT_EQ(formatted("// head\nattn 1 // version\n// end"),
            "// head\nattn 1  // version\n// end\n");
}

TEST(Formatter, CommentsInsideOfAnAttend) {
  const char *text = R"(  block A(x: [B]) -> [B] {
    return attend q over k, v along S {
      // before
      score scaled_dot  // behind
      mask causal
      // after
    }
  }
)";
  EXPECT_EQ(item(text), text);
}

TEST(Formatter, NoCommentIsLost) {
  // A comment behind every token of the specs: all are in the output, whatever line they come to
  // stand on.
  for (std::string text : {std::string(visionTransformer), std::string(everyForm)}) {
    Parsed plain(text);
    std::string commented;
    unsigned count = 0;
    for (size_t i = 0; i < text.size(); ++i) {
      bool inComment = false;
      for (const ast::Comment &comment : plain.file->comments)
        inComment |= i >= comment.range.begin && i < comment.range.end;
      bool inString = std::count(text.rbegin() + (text.size() - i), text.rend(), '"') % 2;
      if (text[i] == ' ' && !inComment && !inString)
        commented += " //" + std::to_string(1000 + count++) + "\n";
      commented += text[i];
    }
    Parsed parsed(commented);
    EXPECT_EQ(parsed.errors(), "");
    std::string result = parsed.formatted();
    for (unsigned i = 0; i < count; ++i)
      EXPECT_NE(result.find("//" + std::to_string(1000 + i)), std::string::npos) << 1000 + i;
    std::string again = Parsed(result).formatted();
    EXPECT_EQ(Parsed(again).formatted(), again);
  }
}

TEST(Formatter, LongLinesBreakInsideOfTheInnermostBrackets) {
  EXPECT_EQ(item("block A(x: [B]) -> [B] { return "
                 "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa(bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb, "
                 "ccccccccccccccccccccccccccccccccccccccc, ddddddddddddddddddddddddddddddddd) }"),
            R"(  block A(x: [B]) -> [B] {
    return aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa(
      bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb,
      ccccccccccccccccccccccccccccccccccccccc,
      ddddddddddddddddddddddddddddddddd
    )
  }
)");
}

TEST(Formatter, KeepsParenthesesOnce) {
  EXPECT_EQ(item("dim A = ((1 + 2)) * (3), E = -(-2) ** 2"),
            "  dim A = (1 + 2) * (3), E = -(-2) ** 2\n");
}

TEST(Formatter, ChoicesOfAChainStandBelowEachOther) {
  EXPECT_EQ(
      item("score s(q,k) = if aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa then "
           "bbbbbbbbbbbbbbbbbbbbbbbbbbb "
           "else if ccccccccccccccccccccccccc then ddddddddddddd else (if e then f else g)"),
      R"(  score s(q, k) = if aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa then bbbbbbbbbbbbbbbbbbbbbbbbbbb
      else if ccccccccccccccccccccccccc then ddddddddddddd
      else (if e then f else g)
)");
  EXPECT_EQ(item("score s(q, k) = if a then b else if c then d else e"),
            "  score s(q, k) = if a then b else if c then d else e\n");
}
