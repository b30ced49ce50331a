// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What this CPU has, asked of the CPU or the kernel. FeaturesX86.cpp and FeaturesAArch64.cpp.
#pragma once

#include <cstdint>

namespace attn {

/// Whether this CPU has the instructions of an ATTN_LEVEL_* and the operating system has switched
/// them on; levels of other architectures it has not. Of AMX, Linux is asked first (requestAmx).
bool hasLevel(int32_t level);

/// Of a level that this CPU has: whether it is as fast as the lower ones at least.
bool runsWell(int32_t level);

/// Asks Linux for the AMX tile registers of this process (arch_prctl); false where refused.
bool requestAmx();

/// Makes all tile registers of this thread 16 rows of 64 bytes, and gives them back: the program
/// around may use them, too, and a thread that holds them is slower to switch.
void configureTiles();
void releaseTiles();

/// The CPU's own name, or what it has where it has none, for messages.
void cpuName(char (&name)[64]);

/// What an AArch64 CPU has beyond Armv8.0, as the kernel tells it, one bit each.
enum ArmFeature : uint32_t {
  ArmSimd = 1,       ///< Advanced SIMD of f32 and f64 (asimd).
  ArmHalf = 2,       ///< f16 arithmetic, of scalars and vectors (fphp, asimdhp).
  ArmDotProduct = 4, ///< sdot and udot on bytes (asimddp).
  ArmInt8Matrix = 8, ///< smmla on bytes (i8mm).
  ArmBfloat16 = 16,  ///< bfdot and bfmmla (bf16).
};
/// The ArmFeature bits of this CPU by getauxval; 0 on other CPUs.
uint32_t armFeatures();

} // namespace attn
