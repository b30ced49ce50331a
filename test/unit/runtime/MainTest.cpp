// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The command line of compiled executables: the tiny model linked with libattn_main by the C
// compiler.
#include "TestSupport.h"
#include "io/Npy.h"
#include "tiny_model.h"
#include <cstring>
#include <gtest/gtest.h>

using namespace attn::test;

namespace {
class MainTest : public testing::Test {
protected:
  Tensors weights = tinyWeights(9);
  std::string weightsPath = scratchPath("w.safetensors"), inputPath = scratchPath("x.npy");

  void SetUp() override {
    writeText(weightsPath, safetensors(weights));
    writeInput(2);
  }
  std::vector<float> writeInput(int64_t batch) {
    std::vector<float> x(size_t(batch * TINY_D));
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = float(i) * 0.125f;
    attn_tensor tensor = {x.data(), ATTN_F32, 2, {batch, TINY_D}, nullptr, 0, 0};
    attn::Error error;
    EXPECT_EQ(ATTN_OK, attn::writeNpy(inputPath.c_str(), tensor, error));
    return x;
  }
  Finished tiny(const std::string &options) { return shell(ATTN_TEST_TINY " " + options); }
  std::string usual() { return "--entry run --weights " + weightsPath + " --input x=" + inputPath; }
  void expectFailure(const std::string &options, int code, const std::string &message) {
    Finished result = tiny(options);
    EXPECT_EQ(code, result.code) << options << "\n" << result.text;
    EXPECT_NE(std::string::npos, result.text.find(message)) << options << "\n" << result.text;
  }
};
} // namespace

TEST_F(MainTest, WritesOutputsAsNpy) {
  std::vector<float> x = writeInput(3);
  std::string out = scratchPath("out.npy");
  Finished result = tiny(usual() + " --output logits=" + out);
  ASSERT_EQ(0, result.code) << result.text;
  EXPECT_EQ("", result.text);
  std::string file = readText(out);
  attn::Vector<char> bytes;
  ASSERT_TRUE(bytes.resize(file.size()));
  memcpy(bytes.data(), file.data(), file.size());
  attn_tensor tensor;
  attn::Error error;
  ASSERT_EQ(ATTN_OK, attn::readNpy(bytes, "out", tensor, error));
  std::vector<double> expected = tinyReference(weights, x);
  ASSERT_EQ(3, tensor.shape[0]);
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(expected[i], static_cast<float *>(tensor.data)[i], 1e-4);
  EXPECT_EQ(file, shell(ATTN_TEST_TINY " " + usual() + " --output logits=- 2>/dev/null").text);
  EXPECT_EQ(file, shell(ATTN_TEST_TINY " --entry=run --weights=" + weightsPath +
                        " --input=x=- --output=logits=- < " + inputPath)
                      .text);
  Tensors inputs;
  inputs["x"] = floatTensor({3, TINY_D}, x);
  std::string stored = scratchPath("inputs.safetensors");
  writeText(stored, safetensors(inputs));
  EXPECT_EQ(file, tiny("--entry run --weights " + weightsPath + " --input x=" + stored +
                       " --output logits=-")
                      .text);
}

TEST_F(MainTest, PrintsTheArgMaxOfEachRow) {
  std::vector<double> logits = tinyReference(weights, writeInput(2));
  std::string best =
      std::to_string(std::max_element(logits.begin(), logits.begin() + TINY_K) - logits.begin());
  Finished result = tiny(usual());
  EXPECT_EQ(0, result.code);
  EXPECT_NE(std::string::npos, result.text.find("logits f32[2, 5]\n  row 0: arg-max " + best))
      << result.text;
}

TEST_F(MainTest, DescribesHelpsAndTimes) {
  Finished help = tiny("--help");
  EXPECT_EQ(0, help.code);
  for (const char *option : {"--weights", "--input", "--output", "--entry", "--threads", "--device",
                             "--bench", "--describe", "--help"})
    EXPECT_NE(std::string::npos, help.text.find(option)) << option;
  EXPECT_EQ("Tiny, compiled by attn test\n", tiny("--version").text);
  Finished described = tiny("--describe");
  EXPECT_EQ(0, described.code);
  EXPECT_NE(std::string::npos, described.text.find("entry run(x: f32[B, D]) -> logits: f32[B, K]"));
  EXPECT_NE(std::string::npos, described.text.find("120 parameters in 6 tensors"))
      << described.text;
  EXPECT_EQ("{\"model\": \"Tiny\"}\n", tiny("--describe --json").text);
  Finished bench = tiny("--bench --entry run --weights random:3 --repeat 7 --threads 2 --json");
  EXPECT_EQ(0, bench.code);
  EXPECT_NE(std::string::npos, bench.text.find("\"threads\": 2, \"repeat\": 7, \"minimum_ms\": "))
      << bench.text;
}

TEST_F(MainTest, RandomInputsAreDeterministic) {
  std::string run = "--entry run --weights random:1 --set-size B=3 --input x=random";
  std::string first = tiny(run + ":5").text;
  EXPECT_NE(std::string::npos, first.find("f32[3, 5]")) << first;
  EXPECT_EQ(first, tiny(run + ":5 --threads 3").text);
  EXPECT_NE(first, tiny(run + ":6").text);
}

TEST_F(MainTest, UsageErrorsExitWith2) {
  expectFailure("--frob", 2, "unknown option `--frob`");
  expectFailure("stray", 2, "unknown option `stray`");
  expectFailure("--weights", 2, "needs a value");
  expectFailure("--threads 0", 2, "expected 1 to 1024");
  expectFailure("--threads 1x", 2, "expected 1 to 1024");
  expectFailure("--input x", 2, "NAME=FILE");
  expectFailure("--device tpu", 2, "expected cpu");
  expectFailure(usual() + " --entry hear", 2, "its entries are `run`, `see`");
  expectFailure("--weights random --input x=random", 2, "say which by `--entry`");
  expectFailure("--entry run --weights random --input z=random", 2, "its inputs are `x`");
  expectFailure("--entry run --weights random --input x=random --output z=a", 2,
                "its outputs are `logits`");
  expectFailure("--entry run --weights random", 2, "pass `--input x=FILE`");
  expectFailure("--entry run --input x=random", 2, "pass `--weights FILE`");
}

TEST_F(MainTest, WrongInputExitsWith1) {
  writeInput(9);
  expectFailure(usual(), 1, "has 9 along axis 0, `B`, expected 1 to 8");
  writeInput(0);
  expectFailure(usual(), 1, "has 0 along axis 0, `B`, expected 1 to 8");
  expectFailure("--entry run --weights random --set-size B=9 --input x=random", 1,
                "expected 1 to 8");
  writeText(inputPath, "\x93NUMPY nonsense");
  expectFailure(usual(), 1, "error[R0301]");
  writeInput(1);
  weights.erase("pos");
  writeText(weightsPath, safetensors(weights));
  expectFailure(usual(), 1, "error[W0105]");
  expectFailure("--entry run --weights random --input x=picture.png", 1, "takes no picture");
  expectFailure("--entry run --weights random --input x=words.txt", 1,
                "of a kind that is not read");
  expectFailure("--entry run --weights random --input x=" + weightsPath, 1, "holds no tensor `x`");
}

TEST_F(MainTest, EnvironmentErrorsExitWith4) {
  expectFailure("--entry run --device=cuda:1 --weights missing", 4, "has no code for GPUs");
  expectFailure("--entry run --weights missing.safetensors --input x=random", 4, "cannot read");
  expectFailure("--entry run --weights random --input x=missing.npy", 4, "cannot read");
  expectFailure(usual() + " --output logits=/no/such/folder/y.npy", 4, "cannot write");
  expectFailure(usual() + " --output logits=/dev/full", 4, "No space left");
  EXPECT_EQ(4, shell("ATTN_FLAGS=level=beyond " ATTN_TEST_TINY " --describe").code);
  EXPECT_EQ(4, shell(ATTN_TEST_TINY " --help >/dev/full").code);
  EXPECT_EQ(4, shell(ATTN_TEST_TINY " " + usual() + " >/dev/full").code);
}
