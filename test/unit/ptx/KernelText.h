// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the tests of the interpreter share: PTX around a body, and runs under several seeds.
#pragma once

#include "test/gpu/interpreter/Launch.h"
#include <gtest/gtest.h>

namespace attn::ptx::test {

constexpr uint64_t seeds = 8;

/// A module whose one kernel, "k", has `parameters` (".param .u64 out") and this body; `globals`
/// come before it. Registers %r0-63, %rd0-31, %f0-255, %p0-7, %h0-15 are declared.
inline std::string kernelText(const std::string &parameters, const std::string &body,
                              const std::string &globals = "") {
  return ".version 8.0\n.target sm_90a\n.address_size 64\n" + globals + "\n.visible .entry k(" +
         parameters + ")\n{\n" +
         ".reg .b32 %r<64>;\n.reg .b64 %rd<32>;\n.reg .f32 %f<256>;\n.reg .pred %p<8>;\n"
         ".reg .b16 %h<16>;\n" +
         body + "\n}\n";
}

struct Trial {
  std::string text;
  Device &device;
  Dim grid;
  Dim block;
  uint32_t sharedBytes = 0;
  std::vector<Argument> arguments;
};

inline Result launchText(const Trial &trial, uint64_t seed) {
  Module module = Module::parse(trial.text);
  Options options;
  options.seed = seed;
  options.stepLimit = 1 << 20;
  return launch(trial.device, module, "k", trial.grid, trial.block, trial.sharedBytes,
                trial.arguments, options);
}

/// The kernel runs under every seed, and `check` holds after each.
template <typename Check> void expectRuns(const Trial &trial, Check check) {
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Result result = launchText(trial, seed);
    ASSERT_EQ(result.error, "");
    check();
    if (::testing::Test::HasFailure())
      return;
  }
}

inline void expectRuns(const Trial &trial) {
  expectRuns(trial, [] {});
}

/// The kernel fails under every seed, with one of these in its error.
inline void expectOneOf(const Trial &trial, const std::vector<std::string> &parts) {
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    Result result = launchText(trial, seed);
    bool found = false;
    for (const std::string &part : parts)
      found |= result.error.find(part) != std::string::npos;
    EXPECT_TRUE(found) << "seed " << seed << ": expected '" << parts[0] << "' in '" << result.error
                       << "'";
  }
}

inline void expectFails(const Trial &trial, const std::string &part) { expectOneOf(trial, {part}); }

/// What only some interleavings bring to light: the kernel fails so under one of the seeds.
inline void expectFailsSometimes(const Trial &trial, const std::vector<std::string> &parts) {
  bool found = false;
  std::string errors;
  for (uint64_t seed = 1; seed <= seeds; ++seed) {
    std::string error = launchText(trial, seed).error;
    errors += error + "\n";
    for (const std::string &part : parts)
      found |= error.find(part) != std::string::npos;
  }
  EXPECT_TRUE(found) << "expected '" << parts[0] << "' in one of\n" << errors;
}

/// `text` with every `from` replaced.
inline std::string replaced(std::string text, const std::string &from, const std::string &to) {
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << "'" << from << "' is not in the text";
  for (; at != std::string::npos; at = text.find(from, at + to.size()))
    text.replace(at, from.size(), to);
  return text;
}

} // namespace attn::ptx::test
