// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The CPU levels: their names, and which of them this machine can run.
#include "compiler/Pipeline.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/TargetParser/Host.h"

namespace attn {

llvm::StringRef cpuLevelName(CpuLevel level) {
  return level == CpuLevel::X86_64_V4 ? "x86-64-v4" : "x86-64-v3";
}

std::optional<CpuLevel> parseCpuLevel(llvm::StringRef name) {
  return llvm::StringSwitch<std::optional<CpuLevel>>(name)
      .Case("x86-64-v3", CpuLevel::X86_64_V3)
      .Case("x86-64-v4", CpuLevel::X86_64_V4)
      .Default(std::nullopt);
}

std::optional<CpuLevel> hostCpuLevel() {
  llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  auto hasAll = [&](std::initializer_list<llvm::StringRef> names) {
    return llvm::all_of(names, [&](llvm::StringRef name) { return features.lookup(name); });
  };
  if (!hasAll({"cx16", "sahf", "popcnt", "sse4.2", "avx", "avx2", "bmi", "bmi2", "f16c", "fma",
               "lzcnt", "movbe", "xsave"}))
    return std::nullopt;
  return hasAll({"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}) ? CpuLevel::X86_64_V4
                                                                             : CpuLevel::X86_64_V3;
}

} // namespace attn
