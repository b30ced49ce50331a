// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Specs that would cost more than anybody has time and memory for, most of them too long to be
// files of test/errors: each ends soon, and with the error that names the limit.
#include "Models.h"
#include "llvm/Support/FileSystem.h"
#include "gtest/gtest.h"
#include <chrono>

using namespace attn::frontend;
using namespace attn::frontend::test;

static std::string model(const std::string &declarations, const std::string &body,
                         const std::string &signature = "(x: [B, D]) -> [B, D]") {
  return "attn 1\nmodel M {\n  dim D = 8\n  dyn B <= 4\n" + declarations + "  entry run" +
         signature + " {\n" + body + "  }\n}\n";
}

/// `text(0)`, `text(1)` … one after the other.
static std::string repeat(unsigned count, llvm::function_ref<std::string(std::string)> text) {
  std::string all;
  for (unsigned i = 0; i < count; ++i)
    all += text(std::to_string(i));
  return all;
}

/// The first error of a spec, and that it was found at once.
static std::string firstError(const std::string &text, const FrontendOptions &options = {}) {
  auto begin = std::chrono::steady_clock::now();
  Built built(text, options);
  std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  EXPECT_LT(seconds.count(), 20); // 5 on an idle machine
  if (!built.diagnostics.hasErrors())
    return "";
  const Diagnostic &first = *built.diagnostics.sorted().front();
  return codeText(first.code).str() + " " + first.message;
}

static const char *const tooManyExpressions =
    "A0304 the model is more than 300000 expressions and declarations";

/// Each block applies the next one twice: 2^30 of the last one's statics are 2^30 times theirs.
TEST(Limits, StaticsThatDoubleFromBlockToBlock) {
  auto blocks = [](const std::string &last, const std::string &op) {
    return repeat(30,
                  [&](const std::string &i) {
                    std::string next = std::to_string(std::stoi(i) + 1);
                    return "  block F" + i + "[N](u: [N]; m) -> [N] { return F" + next +
                           "(u, m = m " + op + " m) }\n";
                  }) +
           "  block F30[N](u: [N]; m) -> [N] { return " + last + " }\n";
  };
  EXPECT_EQ(firstError(model(blocks("u * m", "+"), "    return F0(x, m = 1)\n")),
            tooManyExpressions);
  EXPECT_EQ(
      firstError(model(blocks("if m then u + u else u", "and"), "    return F0(x, m = true)\n")),
      tooManyExpressions);
}

/// The last one runs 2^60 times.
TEST(Limits, BlocksThatApplyTheNextTwice) {
  auto blocks = [](const std::string &cache, const std::string &argument) {
    return repeat(60, [&](const std::string &i) {
      std::string next = "F" + std::to_string(std::stoi(i) + 1);
      return "  block F" + i + "[N](u: [B, N, D]" + cache +
             ") -> [B, N, D] {\n    let v = " + next + "(u" + argument + ")\n    return " + next +
             "(v" + argument + ")\n  }\n";
    });
  };
  EXPECT_EQ(firstError(model(blocks("", "") +
                                 "  block F60[N](u: [B, N, D]) -> [B, N, D] { return u + u }\n"
                                 "  dim T = 3\n",
                             "    return F0(x)\n", "(x: [B, T, D]) -> [B, T, D]")),
            "A0304 this entry computes too many operations");
  EXPECT_EQ(
      firstError(model(blocks(", kv: cache", ", kv") +
                           "  block F60[N](u: [B, N, D], kv: cache) -> [B, N, D] {\n"
                           "    return attend u over kv.push(u, u) along N as S { mask causal }\n"
                           "  }\n  cache kv capacity 9\n",
                       "    return F0(x, kv)\n", "[T](x: [B, T, D], kv: cache) -> [B, T, D]")),
      "A0603 an entry comes here more than once, and pushes to the same keys and values");
}

TEST(Limits, MasksOfMasksInManyAttentions) {
  std::string masks = repeat(9, [](const std::string &i) {
    std::string next = "m" + std::to_string(std::stoi(i) + 1);
    return "  mask m" + i + "(i, j) = " + next + " and " + next + "\n";
  });
  std::string attentions = repeat(300, [](const std::string &i) {
    return "    let a" + std::to_string(std::stoi(i) + 1) + " = attend a" + i + " over a" + i +
           ", a" + i + " along B as S { mask m0 }\n";
  });
  EXPECT_EQ(firstError(model(masks + "  mask m9(i, j) = causal\n",
                             "    let a0 = x\n" + attentions + "    return a300\n")),
            tooManyExpressions);
}

TEST(Limits, BlocksForManySizes) {
  std::string dims = repeat(1000, [](const std::string &i) {
    return "  dim E" + i + " = " + i + " + 1\n  param p" + i + ": [E" + i + "]\n";
  });
  std::string calls =
      repeat(1000, [](const std::string &i) { return "    let y" + i + " = F(p" + i + ")\n"; });
  std::string body =
      repeat(1000, [](const std::string &i) { return "    let z" + i + " = u + " + i + "\n"; });
  EXPECT_EQ(
      firstError(model(dims + "  block F[N](u: [N]) -> [N] {\n" + body + "    return u\n  }\n",
                       calls + "    return x\n")),
      tooManyExpressions);
}

/// Where intermediates are asked for, layers are calls one after the other.
TEST(Limits, IntermediatesOfManyLayers) {
  std::string text = model("  stack s: 65536 of F\n  block F(u: [D]) -> [D] {\n"
                           "    let a = u + 1\n    let b = a + 1\n    let c = b + 1\n"
                           "    let d = c + 1\n    let e = d + 1\n    return e\n  }\n",
                           "    return s(x)\n");
  EXPECT_EQ(firstError(text), "");
  FrontendOptions options;
  options.taps = true;
  EXPECT_EQ(firstError(text, options), tooManyExpressions);
}

TEST(Limits, PartsOfPackedTensors) {
  auto names = [](const char *separator) {
    return repeat(20000, [&](const std::string &i) { return "p" + i + separator; });
  };
  EXPECT_EQ(firstError(
                model("  linear " + names(", ") + "q: D -> D = split(\"w\", " + names(" ") + "q)\n",
                      "    return x\n")),
            tooManyExpressions);
  EXPECT_EQ(
      firstError(model("  param " + names(", ") + "q: [D] = split(\"w\", " + names(" ") + "q)\n",
                       "    return x\n")),
      tooManyExpressions);
  std::string wide = "  dim A = 2000000000, C = 60000\n  param ";
  std::string parts = repeat(500, [](const std::string &i) { return " p" + i; });
  EXPECT_EQ(
      firstError(model(wide + repeat(499, [](const std::string &i) { return "p" + i + ", "; }) +
                           "p499: [A, C] = split(\"w\"," + parts + ")\n",
                       "    return x\n")),
      "A0304 `w` has too many elements");
}

TEST(Limits, TensorsOfASignature) {
  std::string inputs = repeat(1000, [](const std::string &i) { return ", y" + i + ": [B]"; });
  EXPECT_EQ(firstError(model("", "    return x\n", "(x: [B, D]" + inputs + ") -> [B, D]")),
            "A0304 `run` takes or gives too many tensors");
  std::string results = repeat(1000, [](const std::string &) { return "[D], "; });
  EXPECT_EQ(firstError(model("  block F(x: [D]) -> " + results + "[D] { return x }\n",
                             "    return F(x)\n")),
            "A0304 `F` takes or gives too many tensors");
}

/// Columns are counted for the place of every operation.
TEST(Limits, ModelOnOneLine) {
  std::string lets = repeat(40000, [](const std::string &i) {
    return "let a" + std::to_string(std::stoi(i) + 1) + " = a" + i + " + 1 ";
  });
  EXPECT_EQ(firstError(model("", "let a0 = x " + lets + "return a40000 ")), "");
}

TEST(Limits, FilesThatDoNotEnd) {
  EXPECT_EQ(firstError("attn 1\nuse \"/dev/zero\"\n" + model("", "    return x\n").substr(7)),
            "A0213 `/dev/zero` cannot be read: it is larger than 16 MiB");
  FrontendOptions options;
  options.config = "/dev/zero";
  EXPECT_EQ(firstError(model("  dim E = config.size\n  param p: [E]\n", "    return x\n"), options),
            "A0211 the configuration `/dev/zero` cannot be read: it is larger than 16 MiB");
}

TEST(Limits, BracketsOfAConfiguration) {
  for (std::string unit : {"[", "{\"a\":", "[\"]\","}) {
    std::string text;
    for (unsigned i = 0; i < 100000; ++i)
      text += unit;
    llvm::SmallString<128> path;
    int file;
    ASSERT_FALSE(llvm::sys::fs::createTemporaryFile("config", "json", file, path));
    llvm::raw_fd_ostream(file, /*shouldClose=*/true) << text;
    FrontendOptions options;
    options.config = path.str().str();
    EXPECT_EQ(
        firstError(model("  dim E = config.size\n  param p: [E]\n", "    return x\n"), options),
        "A0211 the configuration `" + options.config +
            "` cannot be read: brackets stand too deep in each other");
    (void)llvm::sys::fs::remove(path);
  }
}
