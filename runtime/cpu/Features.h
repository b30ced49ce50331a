// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#ifndef ATTN_CPU_FEATURES_H
#define ATTN_CPU_FEATURES_H
#include <cstdint>

namespace attn {

/// The highest ATTN_LEVEL_* that this CPU has and the operating system has switched on (cpuid and
/// xgetbv), 0 below x86-64-v3. AMX also needs attn::requestAmx.
int32_t cpuLevel();

/// Asks Linux for the AMX tile registers of this process (arch_prctl); false where refused.
bool requestAmx();

/// Makes all tile registers of this thread 16 rows of 64 bytes, and gives them back: the program
/// around may use them, too, and a thread that holds them is slower to switch.
void configureTiles();
void releaseTiles();

/// The CPU's own name from cpuid, for messages.
void cpuName(char (&name)[64]);

} // namespace attn
#endif
