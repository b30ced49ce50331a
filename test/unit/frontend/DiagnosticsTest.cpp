// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "compiler/frontend/syntax/Diagnostics.h"
#include "llvm/Support/JSON.h"
#include "gtest/gtest.h"

using namespace attn::frontend;

static std::string rendered(const DiagnosticEngine &diagnostics, bool colour = false) {
  std::string text;
  llvm::raw_string_ostream os(text);
  diagnostics.render(os, {colour});
  return text;
}

TEST(SourceFile, EveryLineEnding) {
  SourceFile source("f", "a\r\nbc\rd\n");
  EXPECT_EQ(source.lineCount(), 4u);
  EXPECT_EQ(source.lineText(1), "a");
  EXPECT_EQ(source.lineText(2), "bc");
  EXPECT_EQ(source.lineText(3), "d");
  EXPECT_EQ(source.lineText(4), "");
  EXPECT_EQ(source.lineAndColumn(4).line, 2u);
  EXPECT_EQ(source.lineAndColumn(4).column, 2u);
  EXPECT_EQ(source.lineAndColumn(99).line, 4u);
}

TEST(SourceFile, UsedFilesStandBehind) {
  SourceFile source("f", "a\nb");
  SourceRange first = source.use("g", "c\nd\n"), second = source.use("h", "");
  EXPECT_EQ(source.text(), "a\nb");
  EXPECT_EQ(source.lineCount(), 2u);
  EXPECT_EQ(source.text(first), "c\nd\n");
  EXPECT_EQ(source.nameAt(source.text().size()), "f"); // its end is its own
  EXPECT_EQ(source.nameAt(first.begin), "g");
  EXPECT_EQ(source.line(first.begin), 1u);
  EXPECT_EQ(source.line(first.begin + 2), 2u);
  EXPECT_EQ(source.text(source.lineAt(first.begin + 2)), "d");
  EXPECT_EQ(source.line(first.end), 3u);
  EXPECT_EQ(source.nameAt(second.begin), "h");
  EXPECT_EQ(source.lineAndColumn(second.end + 9).line, 1u);
  EXPECT_FALSE(source.isUsed(source.text().size()));
  EXPECT_TRUE(source.isUsed(first.begin) && source.isUsed(second.begin));
}

TEST(Diagnostics, PlacesInUsedFiles) {
  SourceFile source("f", "use g\nattn(x)");
  SourceRange used = source.use("g", "\n  block");
  DiagnosticEngine diagnostics(source);
  diagnostics.error(DiagCode::UnknownName, {6, 10}, "wrong")
      .at({used.begin + 3, used.begin + 8}, "here");
  std::string text;
  llvm::raw_string_ostream os(text);
  diagnostics.render(os);
  EXPECT_EQ(text, "error[A0201]: wrong\n"
                  "  --> f:2:1\n"
                  "    2 | attn(x)\n"
                  "      | ^^^^\n"
                  "  ::: g:2:3\n"
                  "    2 |   block\n"
                  "      |   ----- here\n");
  text.clear();
  diagnostics.renderJson(os);
  EXPECT_NE(text.find("\"file\":\"g\""), std::string::npos) << text;
}

TEST(SourceFile, ColumnsCountCharacters) {
  SourceFile source("f", "äß = 1");
  EXPECT_EQ(source.lineAndColumn(5).column, 4u);
}

TEST(Diagnostics, PlacesInTheOrderOfTheText) {
  SourceFile source("vit.attn", "linear proj: H, E -> D bias\nlet y = proj(q)\n");
  DiagnosticEngine diagnostics(source);
  diagnostics.error(DiagCode::UnexpectedToken, {36, 43}, "`proj` takes axes H, E but gets H, E2")
      .says("this is [B, T, H, E2]")
      .at({7, 11}, "declared here")
      .note("E = 64 (line 5)")
      .help("write `linear proj: H, E2 -> D bias`");
  EXPECT_EQ(rendered(diagnostics), R"(error[A0101]: `proj` takes axes H, E but gets H, E2
  --> vit.attn:2:9
    1 | linear proj: H, E -> D bias
      |        ---- declared here
    2 | let y = proj(q)
      |         ^^^^^^^ this is [B, T, H, E2]
   = note: E = 64 (line 5)
   = help: write `linear proj: H, E2 -> D bias`
)");
}

TEST(Diagnostics, TabsWideLettersAndGarbage) {
  SourceFile source("f", "\t語 x\n\xFF\x01 y");
  DiagnosticEngine diagnostics(source);
  diagnostics.error(DiagCode::UnexpectedToken, {5, 6}, "one");
  diagnostics.error(DiagCode::UnexpectedToken, {10, 11}, "two");
  std::string text = rendered(diagnostics);
  EXPECT_NE(text.find("    1 |     語 x\n      |        ^\n"), std::string::npos) << text;
  EXPECT_NE(text.find("    2 | \uFFFD\uFFFD y\n      |    ^\n"), std::string::npos) << text;
}

TEST(Diagnostics, LongLinesAreCut) {
  SourceFile source("f", std::string(100000, 'a') + "!" + std::string(100000, 'b'));
  DiagnosticEngine diagnostics(source);
  diagnostics.error(DiagCode::UnexpectedToken, {100000, 200001}, "here");
  std::string text = rendered(diagnostics);
  EXPECT_LT(text.size(), 500u);
  EXPECT_NE(text.find("a!b"), std::string::npos);
}

TEST(Diagnostics, LongLineThatBeginsInsideACharacter) {
  SourceFile source("f", "\xa5" + std::string(900, 'a'));
  DiagnosticEngine diagnostics(source);
  diagnostics.error(DiagCode::UnknownName, {0, 1}, "wrong");
  EXPECT_EQ(rendered(diagnostics), "error[A0201]: wrong\n"
                                   "  --> f:1:1\n"
                                   "    1 | \uFFFD" +
                                       std::string(139, 'a') +
                                       "…\n"
                                       "      | ^\n");
}

TEST(Diagnostics, SortedAndTheFileAsAWholeLast) {
  SourceFile source("f", "a b c");
  DiagnosticEngine diagnostics(source);
  diagnostics.error(DiagCode::UnexpectedToken, "whole").line("missing  x");
  diagnostics.error(DiagCode::UnexpectedToken, {4, 5}, "third");
  diagnostics.warning(DiagCode::UnexpectedToken, {0, 1}, "first");
  std::string order;
  for (const Diagnostic *diagnostic : diagnostics.sorted())
    order += diagnostic->message + " ";
  EXPECT_EQ(order, "first third whole ");
  EXPECT_EQ(diagnostics.errorCount(), 2u);
}

TEST(Diagnostics, ColourOnlyWhereAsked) {
  SourceFile source("f", "a");
  DiagnosticEngine diagnostics(source);
  diagnostics.error(DiagCode::UnexpectedToken, {0, 1}, "m");
  EXPECT_EQ(rendered(diagnostics).find('\033'), std::string::npos);
  EXPECT_NE(rendered(diagnostics, true).find('\033'), std::string::npos);
}

TEST(Diagnostics, JsonIsOneObjectALine) {
  SourceFile source("f.attn", "a\n b\xFF");
  DiagnosticEngine diagnostics(source);
  diagnostics.error(DiagCode::UnexpectedToken, {3, 4}, "got `\xFF`").at({0, 1}, "here").help("h");
  diagnostics.error(DiagCode::MissingArrow, "whole");
  std::string text;
  llvm::raw_string_ostream os(text);
  diagnostics.renderJson(os);
  llvm::SmallVector<llvm::StringRef> lines;
  llvm::StringRef(text).split(lines, '\n', -1, false);
  ASSERT_EQ(lines.size(), 2u);
  llvm::Expected<llvm::json::Value> first = llvm::json::parse(lines[0]);
  ASSERT_TRUE(bool(first));
  const llvm::json::Object &object = *first->getAsObject();
  EXPECT_EQ(object.getString("code"), "A0101");
  EXPECT_EQ(object.getString("severity"), "error");
  EXPECT_EQ(object.getObject("range")->getObject("start")->getInteger("line"), 2);
  EXPECT_EQ(object.getObject("range")->getObject("start")->getInteger("column"), 2);
  llvm::Expected<llvm::json::Value> second = llvm::json::parse(lines[1]);
  ASSERT_TRUE(bool(second));
  EXPECT_EQ(second->getAsObject()->getObject("range"), nullptr);
}

TEST(Diagnostics, NearestName) {
  EXPECT_EQ(nearestName("attn.qvk", {"mlp.fc1", "attn.qkv", "attn.q"}), "attn.qkv");
  EXPECT_EQ(nearestName("norm3", {"norm1", "norm2"}), "norm1");
  EXPECT_EQ(nearestName("d", {"D", "e"}), "D");
  EXPECT_EQ(nearestName("x", {"y", "z"}), std::nullopt);
  EXPECT_EQ(nearestName("head", {"patch_embed"}), std::nullopt);
}
