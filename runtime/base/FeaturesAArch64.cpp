// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Features of AArch64 CPUs by getauxval, as "ARM64 ELF hwcaps" of the kernel's documentation names
// them.
#if defined(__aarch64__)
#include "attn/abi.h"
#include "base/Features.h"
#include <asm/hwcap.h>
#include <cstring>
#include <sys/auxv.h>

bool attn::hasLevel(int32_t level) {
  if (level == ATTN_LEVEL_ANY)
    return true;
  constexpr uint32_t neon = ArmSimd | ArmDotProduct, matrix = neon | ArmInt8Matrix | ArmBfloat16;
  uint32_t needed = level == ATTN_LEVEL_NEON ? neon : matrix;
  return level >= ATTN_LEVEL_NEON && level <= ATTN_LEVEL_NEON_I8MM &&
         (armFeatures() & needed) == needed;
}

bool attn::runsWell(int32_t) { return true; }
bool attn::requestAmx() { return false; }
void attn::configureTiles() {}
void attn::releaseTiles() {}

void attn::cpuName(char (&name)[64]) {
  struct {
    ArmFeature feature;
    const char *word;
  } words[] = {{ArmSimd, " asimd"},
               {ArmHalf, " asimdhp"},
               {ArmDotProduct, " asimddp"},
               {ArmInt8Matrix, " i8mm"},
               {ArmBfloat16, " bf16"}};
  strcpy(name, "an AArch64 CPU with");
  for (const auto &[feature, word] : words)
    if (armFeatures() & feature)
      strcat(name, word);
}

uint32_t attn::armFeatures() {
  unsigned long first = getauxval(AT_HWCAP), second = getauxval(AT_HWCAP2);
  auto has = [](unsigned long word, unsigned long bits, ArmFeature feature) {
    return (word & bits) == bits ? uint32_t(feature) : 0;
  };
  return has(first, HWCAP_ASIMD, ArmSimd) | has(first, HWCAP_FPHP | HWCAP_ASIMDHP, ArmHalf) |
         has(first, HWCAP_ASIMDDP, ArmDotProduct) | has(second, HWCAP2_I8MM, ArmInt8Matrix) |
         has(second, HWCAP2_BF16, ArmBfloat16);
}

#endif
