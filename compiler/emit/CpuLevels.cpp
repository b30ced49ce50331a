// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The CPU levels: their names, and which of them this machine can run.
#include "compiler/Pipeline.h"
#include "compiler/transforms/ParameterLayout.h"
#include "dialect/AttnDialect.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/TargetParser/Host.h"

namespace attn {

static constexpr llvm::StringRef levelNames[] = {"x86-64-v3", "x86-64-v4", "vnni", "avx512bf16",
                                                 "amx"};

llvm::StringRef cpuLevelName(CpuLevel level) { return levelNames[static_cast<size_t>(level)]; }

std::optional<CpuLevel> parseCpuLevel(llvm::StringRef name) {
  auto found = llvm::find(levelNames, name);
  if (found == std::end(levelNames))
    return std::nullopt;
  return static_cast<CpuLevel>(found - std::begin(levelNames));
}

CpuLevel usefulLevel(CpuLevel level, Precision precision) {
  precision = storedPrecision(precision);
  // No level multiplies f16; tile registers and vdpbf16ps are of bf16.
  if (precision == Precision::F32 || precision == Precision::F16 ||
      (precision == Precision::BF16 && level < CpuLevel::Avx512Bf16))
    return std::min(level, CpuLevel::X86_64_V4);
  return level;
}

std::optional<CpuLevel> hostCpuLevel() {
  llvm::StringMap<bool> features = llvm::sys::getHostCPUFeatures();
  auto hasAll = [&](std::initializer_list<llvm::StringRef> names) {
    return llvm::all_of(names, [&](llvm::StringRef name) { return features.lookup(name); });
  };
  if (!hasAll({"cx16", "sahf", "popcnt", "sse4.2", "avx", "avx2", "bmi", "bmi2", "f16c", "fma",
               "lzcnt", "movbe", "xsave"}))
    return std::nullopt;
  if (!hasAll({"avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"}))
    return CpuLevel::X86_64_V3;
  if (!hasAll({"avx512vnni"}))
    return CpuLevel::X86_64_V4;
  if (hasAll({"avx512bf16", "amx-tile", "amx-bf16", "amx-int8"}))
    return CpuLevel::Amx;
  // Intel's vdpbf16ps has a quarter of the rate of f32's products.
  bool isFast = hasAll({"avx512bf16"}) && llvm::sys::getHostCPUName().starts_with("znver");
  return isFast ? CpuLevel::Avx512Bf16 : CpuLevel::Vnni;
}

} // namespace attn
