// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/unit/kernels/TileEmulator.h"
#include "runtime/base/Dtype.h"
#include <cstdint>
#include <cstring>

namespace attn::test {
namespace {

struct Tile {
  char bytes[16][64];

  template <typename T> T at(int row, int element) const {
    T value;
    std::memcpy(&value, bytes[row] + sizeof(T) * element, sizeof value);
    return value;
  }
  template <typename T> void set(int row, int element, T value) {
    std::memcpy(bytes[row] + sizeof(T) * element, &value, sizeof value);
  }
};

Tile tiles[8];

void zero(int8_t tile) { tiles[tile] = {}; }

void load(int8_t tile, int64_t address, int64_t stride) {
  for (int row = 0; row < 16; ++row)
    std::memcpy(tiles[tile].bytes[row], reinterpret_cast<const char *>(address) + row * stride, 64);
}

void store(int8_t tile, int64_t address, int64_t stride) {
  for (int row = 0; row < 16; ++row)
    std::memcpy(reinterpret_cast<char *>(address) + row * stride, tiles[tile].bytes[row], 64);
}

/// sums[m][n] += a[m][4k ..] * b[k][4n ..], a unsigned, b signed, wrapping.
void multiplyBytes(int8_t sums, int8_t a, int8_t b) {
  for (int m = 0; m < 16; ++m)
    for (int n = 0; n < 16; ++n) {
      auto sum = tiles[sums].at<uint32_t>(m, n);
      for (int k = 0; k < 16; ++k)
        for (int i = 0; i < 4; ++i)
          sum += uint32_t(int32_t(tiles[a].at<uint8_t>(m, 4 * k + i)) *
                          tiles[b].at<int8_t>(k, 4 * n + i));
      tiles[sums].set(m, n, sum);
    }
}

/// sums[m][n] += a[m][2k ..] * b[k][2n ..]; denormals are zero, as the instruction has it.
void multiplyPairs(int8_t sums, int8_t a, int8_t b) {
  auto number = [](uint16_t bits) { return (bits & 0x7f80) == 0 ? 0.0f : bfloatToFloat(bits); };
  for (int m = 0; m < 16; ++m)
    for (int n = 0; n < 16; ++n) {
      auto sum = tiles[sums].at<float>(m, n);
      for (int k = 0; k < 16; ++k)
        for (int i = 0; i < 2; ++i)
          sum += number(tiles[a].at<uint16_t>(m, 2 * k + i)) *
                 number(tiles[b].at<uint16_t>(k, 2 * n + i));
      tiles[sums].set(m, n, sum);
    }
}

} // namespace

std::vector<std::pair<std::string, void *>> tileEmulator() {
  auto named = [](const char *name, auto *function) {
    return std::pair<std::string, void *>(std::string("attn_emulated_") + name,
                                          reinterpret_cast<void *>(function));
  };
  return {named("tilezero", zero),         named("tileloadd64", load),
          named("tileloaddt164", load),    named("tilestored64", store),
          named("tdpbusd", multiplyBytes), named("tdpbf16ps", multiplyPairs)};
}

} // namespace attn::test
