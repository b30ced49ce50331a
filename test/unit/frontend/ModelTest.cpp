// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a file in test/errors cannot show: a config.json, hostile sizes, the table of codes.
#include "Models.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "gtest/gtest.h"
#include <fstream>

using namespace attn::frontend;
using namespace attn::frontend::test;

static std::string model(const std::string &body) {
  return "attn 1\nmodel M {\n  dyn B <= 4\n" + body + "\n}\n";
}
static const char *const identity = "  entry run(x: [B, D]) -> [B, D] = x";

/// A file that is gone when the test ends.
struct Config {
  explicit Config(const std::string &text) {
    llvm::SmallString<128> name;
    EXPECT_FALSE(llvm::sys::fs::createTemporaryFile("config", "json", name));
    options.config = name.str().str();
    std::ofstream(options.config) << text;
  }
  ~Config() { (void)llvm::sys::fs::remove(options.config); }
  FrontendOptions options;
};

TEST(Config, GivesSizes) {
  Config config(R"({"hidden_size": 8, "text": {"layers": 2}, "none": null})");
  Built built(model("dim D = config.hidden_size, L = config.text.layers, N = config.none ?? 3, "
                    "M = config.absent ?? D * 2\n" +
                    std::string("param a: [D, L, N, M]\n") + identity),
              config.options);
  EXPECT_TRUE(built.module) << built.errors();
}

TEST(Config, IsWrong) {
  std::string text = model("dim D = config.hidden_size\n" + std::string(identity));
  auto codes = [&](const char *json) { return Built(text, Config(json).options).codes(); };
  EXPECT_EQ(codes("{"), "A0211");
  EXPECT_EQ(codes("[8]"), "A0211");
  EXPECT_EQ(codes("{}"), "A0212");
  EXPECT_EQ(codes(R"({"hidden_size": "8"})"), "A0305");
  EXPECT_EQ(codes(R"({"hidden_size": 8.5})"), "A0305");
  EXPECT_EQ(codes(R"({"hidden_size": 0})"), "A0303");
  EXPECT_EQ(codes(R"({"hidden_size": 1e300})"), "A0305");
}

TEST(Hostile, DimsInARow) {
  std::string dims = "dim D = D0";
  for (int i = 0; i < 20000; ++i)
    dims += ", D" + std::to_string(i) + " = D" + std::to_string(i + 1);
  Built built(model(dims + ", D20000 = 8\n" + identity));
  EXPECT_TRUE(built.diagnostics.hasErrors());
  EXPECT_EQ(built.codes().substr(0, 5), "A0111");
}

/// Names of axes that double from line to line.
TEST(Hostile, NamesOfAxes) {
  std::string body = "dim D = 1\nblock Q[T](x: [T]) -> [T*T] {\n  return relabel(x, T = T*T)\n}\n"
                     "entry run(x: [D]) -> [D] {\n  let v0 = x\n";
  for (int i = 0; i < 40; ++i)
    body += "let v" + std::to_string(i + 1) + " = Q(v" + std::to_string(i) + ")\n";
  EXPECT_EQ(Built(model(body + "return v40\n}")).codes(), "A0111");
}

TEST(Hostile, DeepThroughBlocks) {
  std::string body;
  for (int i = 0; i < 60; ++i) {
    std::string nested = i ? "B" + std::to_string(i - 1) + "(x)" : "x";
    for (int j = 0; j < 100; ++j)
      nested = "gelu(" + nested + ")";
    body += "block B" + std::to_string(i) + "(x: [B, D]) -> [B, D] {\n  return " + nested + "\n}\n";
  }
  Built built(model("dim D = 4\n" + body + "entry run(x: [B, D]) -> [B, D] = B59(x)"));
  EXPECT_EQ(built.codes().substr(0, 5), "A0111");
}

TEST(Hostile, ManyErrors) {
  std::string lets;
  for (int i = 0; i < 3000; ++i)
    lets += "let v" + std::to_string(i) + " = gelo" + std::to_string(i) + "(x)\n";
  Built built(model("dim D = 4\nentry run(x: [B, D]) -> [B, D] {\n" + lets + "return x\n}"));
  EXPECT_EQ(built.diagnostics.errorCount(), 100u);
  EXPECT_NE(built.codes().find("A0125"), std::string::npos);
}

//===------------------------------------------------------------------------------------------===//
// Codes
//===------------------------------------------------------------------------------------------===//

static std::string textOf(const llvm::Twine &path) {
  auto buffer = llvm::MemoryBuffer::getFile(path);
  EXPECT_TRUE(bool(buffer)) << path.str();
  return buffer ? (*buffer)->getBuffer().str() : "";
}

/// What the files of test/errors say that they show.
static llvm::StringSet<> testedCodes() {
  llvm::StringSet<> codes;
  std::error_code failure;
  for (llvm::sys::fs::directory_iterator it(ATTN_SOURCE_DIR "/test/errors", failure), end;
       it != end && !failure; it.increment(failure)) {
    std::string text = textOf(it->path());
    for (size_t at = text.find('['); at != std::string::npos; at = text.find('[', at + 1))
      if (at + 6 < text.size() && text[at + 6] == ']')
        codes.insert(text.substr(at + 1, 5));
  }
  return codes;
}

TEST(Codes, EachHasATestFileAndItsLineInTheManual) {
  llvm::StringSet<> tested = testedCodes();
  std::string manual = textOf(ATTN_SOURCE_DIR "/compiler/frontend/REFERENCE.md");
  unsigned count = 0;
#define ATTN_DIAGNOSTIC(code, name, meaning)                                                       \
  ++count;                                                                                         \
  EXPECT_NE(manual.find("| " code " | " meaning " |"), std::string::npos) << code;                 \
  /* Too large for a test; never to be seen; tested above. */                                      \
  EXPECT_TRUE(tested.contains(code) || DiagCode::name == DiagCode::FileTooLarge ||                 \
              DiagCode::name == DiagCode::InternalError || DiagCode::name == DiagCode::BadConfig)  \
      << code;
#include "compiler/frontend/syntax/DiagnosticCodes.def"
  unsigned lines = 0;
  for (size_t at = manual.find("\n| A0"); at != std::string::npos;
       at = manual.find("\n| A0", at + 1))
    ++lines;
  EXPECT_EQ(lines, count) << "a code in the manual that does not exist";
}
