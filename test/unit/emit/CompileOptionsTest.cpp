// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Hashes of options: every field counts, and equal options have one hash.
#include "compiler/emit/CompileOptions.h"
#include "dialect/AttnDialect.h"
#include <functional>
#include <gtest/gtest.h>
#include <set>

namespace attn::test {
namespace {

llvm::BLAKE3Result<> hashOf(const CompileOptions &options) {
  StrongHash hash;
  hash.add(options);
  return hash.final();
}

TEST(CompileOptions, HashTakesEveryField) {
  using Options = CompileOptions;
  const std::function<void(Options &)> changes[] = {
      [](Options &o) {},
      [](Options &o) { o.targets.add("x86-64-v3"); },
      [](Options &o) { o.targets.add("x86-64-v4"); },
      [](Options &o) { o.targets = *TargetSet::parse("x86-64-v3,x86-64-v4"); },
      [](Options &o) { o.targets.add("sm_80"); },
      [](Options &o) { o.precision = Precision::Int8; },
      [](Options &o) { o.optLevel = 2; },
      [](Options &o) { o.dumpStages = "folder"; },
      [](Options &o) { o.kernel = "folder"; },
      [](Options &o) { o.attention = AttentionLowering(0); },
      [](Options &o) { o.attention = AttentionLowering(1); },
      [](Options &o) { o.tuning["x86-64-v3"]; },
      [](Options &o) { o.tuning["x86-64-v3"]["linear"][Knob::Rows] = 2; },
      [](Options &o) { o.tuning["x86-64-v3"]["linear"][Knob::Rows] = 3; },
      [](Options &o) { o.tuning["x86-64-v3"]["linear"][Knob::Steps] = 3; },
      [](Options &o) { o.tuning["x86-64-v3"]["other"][Knob::Rows] = 3; },
      [](Options &o) { o.tuning["x86-64-v4"]["linear"][Knob::Rows] = 3; },
      [](Options &o) { o.ptxas = Ptxas(); },
      [](Options &o) { o.ptxas = Ptxas{"ptxas", ""}; },
      [](Options &o) { o.ptxas = Ptxas{"", "ptxas"}; },
      [](Options &o) { o.gpuBulkStores = true; },
      [](Options &o) { o.gpuOverlap = true; },
      [](Options &o) { o.gpuWatchdog = true; },
      [](Options &o) { o.tokenizer = "folder"; },
      [](Options &o) { o.chatTemplate = "folder"; },
      [](Options &o) { o.labels = "folder"; },
      [](Options &o) { o.labelFunction = 1; },
      [](Options &o) { o.explanation = "folder"; },
      [](Options &o) { o.embedWeights = true; },
      [](Options &o) { o.debugLines = true; },
  };
  std::set<llvm::BLAKE3Result<>> hashes;
  for (const auto &change : changes) {
    Options options, same;
    change(options);
    change(same);
    EXPECT_EQ(hashOf(options), hashOf(same));
    EXPECT_TRUE(hashes.insert(hashOf(options)).second) << "change " << &change - changes;
  }
}

} // namespace
} // namespace attn::test
