// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What panels of one width hold, in panels of another: their words and the lines of groups. What a
// column has once stays where it is.
#include "base/RegroupPanels.h"
#include "attn/panels.h"
#include <cstring>

using namespace attn;

bool attn::slotsOfLevel(const attn_abi_model &tables, const attn_abi_level &level,
                        Vector<attn_abi_slot> &slots) {
  if (!slots.resize(size_t(tables.slotCount)))
    return false;
  for (int32_t i = 0; i < tables.slotCount; ++i) {
    attn_abi_slot &slot = slots[size_t(i)] = tables.slots[i];
    if (slot.width > 0 && level.panelWidth > 0)
      slot.width = level.panelWidth;
  }
  return true;
}

/// [columns / width][rows][width] to the same with another width.
template <typename Element>
static void regroup(const Element *from, int64_t width, Element *to, int64_t newWidth, int64_t rows,
                    int64_t columns) {
  int64_t count = width < newWidth ? width : newWidth; // neighbours in both
  for (int64_t column = 0; column < columns; column += count) {
    const Element *in = from + column / width * width * rows + column % width;
    Element *out = to + column / newWidth * newWidth * rows + column % newWidth;
    for (int64_t row = 0; row < rows; ++row, in += width, out += newWidth)
      memcpy(out, in, size_t(count) * sizeof(Element));
  }
}

void attn::regroupPanels(const attn_abi_slot &slot, const char *from, int64_t width, char *to) {
  const PanelFormat &format = *panelFormatOf(slot.layout);
  PanelPlaces places(format, slot.k, slot.padded);
  regroup(reinterpret_cast<const uint32_t *>(from), slot.width, reinterpret_cast<uint32_t *>(to),
          width, format.words(slot.k), slot.padded);
  regroup(reinterpret_cast<const uint16_t *>(from + places.lines), slot.width,
          reinterpret_cast<uint16_t *>(to + places.lines), width, format.lines(slot.k),
          slot.padded);
  memcpy(to + places.sums, from + places.sums, size_t(places.end - places.sums));
}

bool attn::haveOtherPanels(const attn_abi_model &tables, const attn_abi_slot *others) {
  for (int32_t i = 0; i < tables.slotCount; ++i)
    if (hasOtherPanels(tables.slots[i], others[i]))
      return true;
  return false;
}

void attn::regroupBlock(const attn_abi_model &tables, const char *from, const attn_abi_slot *slots,
                        char *to) {
  for (int32_t i = 0; i < tables.slotCount; ++i) {
    const attn_abi_slot &slot = tables.slots[i], &other = slots[i];
    for (int32_t layer = 0; layer < slot.layers; ++layer) {
      int64_t at = slot.offset + layer * slot.layerStride;
      if (hasOtherPanels(slot, other))
        regroupPanels(slot, from + at, other.width, to + at);
      else
        memcpy(to + at, from + at, size_t(slot.bytes));
    }
  }
}
