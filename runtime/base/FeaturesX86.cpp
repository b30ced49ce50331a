// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// CPU levels as the x86-64 psABI names them, by cpuid directly: __builtin_cpu_supports would need
// libgcc or compiler-rt.
#if defined(__x86_64__)
#include "attn/abi.h"
#include "base/Features.h"
#include <cpuid.h>
#include <cstring>
#include <sys/syscall.h>
#include <unistd.h>

namespace {
struct Registers {
  unsigned a = 0, b = 0, c = 0, d = 0;
};
} // namespace

static Registers cpuid(unsigned leaf, unsigned subleaf) {
  Registers r;
  if (!__get_cpuid_count(leaf, subleaf, &r.a, &r.b, &r.c, &r.d))
    return {};
  return r;
}

static uint64_t xgetbv0() {
  unsigned low, high;
  asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t(high) << 32 | low;
}

static bool hasAll(unsigned value, unsigned bits) { return (value & bits) == bits; }

/// The ATTN_LEVEL_* that this CPU has, a bit each.
static uint32_t levelBits() {
  Registers basic = cpuid(1, 0), extended = cpuid(7, 0), amd = cpuid(0x80000001, 0);
  constexpr unsigned avxVnni = 1u << 4;
  uint32_t aside = hasAll(cpuid(7, 1).a, avxVnni) ? 1u << ATTN_LEVEL_AVX_VNNI : 0;
  auto upTo = [&](int32_t level) { return aside | ((2u << level) - 1); };
  constexpr unsigned osxsave = 1u << 27;
  if (!(basic.c & osxsave))
    return 0;
  uint64_t state = xgetbv0();
  // SSE3, SSSE3, FMA, CX16, SSE4.1, SSE4.2, MOVBE, POPCNT, AVX, F16C
  constexpr unsigned basicV3 = 1u << 0 | 1u << 9 | 1u << 12 | 1u << 13 | 1u << 19 | 1u << 20 |
                               1u << 22 | 1u << 23 | 1u << 28 | 1u << 29;
  constexpr unsigned extendedV3 = 1u << 3 | 1u << 5 | 1u << 8; // BMI1, AVX2, BMI2
  constexpr unsigned amdV3 = 1u << 0 | 1u << 5;                // LAHF, LZCNT
  if (!hasAll(basic.c, basicV3) || !hasAll(extended.b, extendedV3) || !hasAll(amd.c, amdV3) ||
      (state & 0x6) != 0x6)
    return 0;
  // AVX512F, DQ, CD, BW, VL; opmask and zmm state
  constexpr unsigned extendedV4 = 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31;
  if (!hasAll(extended.b, extendedV4) || (state & 0xe6) != 0xe6)
    return upTo(ATTN_LEVEL_X86_64_V3);
  constexpr unsigned vnni = 1u << 11;
  if (!hasAll(extended.c, vnni))
    return upTo(ATTN_LEVEL_X86_64_V4);
  constexpr unsigned bf16 = 1u << 5;
  if (!hasAll(cpuid(7, 1).a, bf16))
    return upTo(ATTN_LEVEL_VNNI);
  constexpr unsigned amx = 1u << 22 | 1u << 24 | 1u << 25; // BF16, TILE, INT8; tile state
  return upTo(hasAll(extended.d, amx) && (state & 0x60000) == 0x60000 ? ATTN_LEVEL_X86_AMX
                                                                      : ATTN_LEVEL_AVX512_BF16);
}

bool attn::hasLevel(int32_t level) {
  if (level == ATTN_LEVEL_ANY)
    return true;
  return level >= ATTN_LEVEL_X86_64_V3 && level <= ATTN_LEVEL_AVX_VNNI &&
         (levelBits() >> level & 1) && (level != ATTN_LEVEL_X86_AMX || requestAmx());
}

bool attn::runsWell(int32_t level) {
  constexpr unsigned authenticAmd = 0x68747541; // "Auth"; Intel's has a quarter of f32's rate
  return level != ATTN_LEVEL_AVX512_BF16 || cpuid(0, 0).b == authenticAmd;
}

bool attn::requestAmx() {
  constexpr long archReqXcompPerm = 0x1023, tileData = 18;
  return syscall(SYS_arch_prctl, archReqXcompPerm, tileData) == 0;
}

void attn::configureTiles() {
  struct alignas(64) {
    uint8_t palette = 1, startRow = 0, reserved[14] = {};
    uint16_t rowBytes[16] = {};
    uint8_t rows[16] = {};
  } tiles;
  for (int i = 0; i < 8; ++i)
    tiles.rowBytes[i] = 64, tiles.rows[i] = 16;
  asm volatile("ldtilecfg %0" : : "m"(tiles));
}

uint32_t attn::armFeatures() { return 0; }

void attn::releaseTiles() { asm volatile("tilerelease"); }

void attn::cpuName(char (&name)[64]) {
  strcpy(name, "this CPU");
  if (cpuid(0x80000000, 0).a < 0x80000004)
    return;
  for (unsigned i = 0; i < 3; ++i) {
    Registers r = cpuid(0x80000002 + i, 0);
    memcpy(name + 16 * i, &r, 16);
  }
  name[48] = 0;
}

#endif
