// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Panels of another width are what packing with that width gives, in every layout.
#include "base/RegroupPanels.h"
#include "weights/PanelLayout.h"
#include <gtest/gtest.h>
#include <random>

using namespace attn;

/// `values` [k][columns] packed with panels of so many columns.
static std::vector<char> packed(const attn_abi_slot &slot, const std::vector<float> &values) {
  std::vector<char> block(size_t(slot.bytes));
  for (int64_t first = 0; first < slot.columns; first += slot.width) {
    int64_t count = std::min<int64_t>(slot.width, slot.columns - first);
    std::vector<float> panel;
    for (int64_t k = 0; k < slot.k; ++k)
      panel.insert(panel.end(), values.begin() + k * slot.columns + first,
                   values.begin() + k * slot.columns + first + count);
    if (!isOfFloats(slot.layout)) {
      storePanel(slot, panel.data(), nullptr, first, count, block.data());
      continue;
    }
    for (int64_t i = 0; i < slot.k * count; ++i) {
      int64_t place = (first / slot.width * slot.k + i / count) * slot.width + i % count;
      memcpy(&block[size_t(4 * place)], &panel[size_t(i)], 4);
    }
  }
  return block;
}

TEST(RegroupPanelsTest, IsWhatPackingWithTheOtherWidthGives) {
  std::mt19937 random(5);
  std::normal_distribution<float> normal;
  for (const PanelFormat &format : panelFormats)
    for (auto [k, columns] : {std::pair<int64_t, int64_t>{1, 1}, {37, 50}, {128, 96}, {64, 145}}) {
      attn_abi_slot slot = {};
      slot.layout = format.layout, slot.layers = 1, slot.k = k, slot.columns = columns;
      slot.padded = paddedColumns(columns, 48);
      slot.bytes = PanelPlaces(format, k, slot.padded).end;
      std::vector<float> values(size_t(k * columns));
      for (float &value : values)
        value = normal(random);
      for (auto [from, to] : {std::pair<int64_t, int64_t>{48, 24}, {24, 48}, {48, 16}, {16, 48}}) {
        attn_abi_slot other = slot;
        slot.width = int32_t(from), other.width = int32_t(to);
        std::vector<char> block = packed(slot, values), made(block.size(), 77);
        regroupPanels(slot, block.data(), to, made.data());
        EXPECT_EQ(packed(other, values), made) << "layout " << slot.layout << ", " << k << " x "
                                               << columns << ", " << from << " to " << to;
      }
    }
}
