// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Layouts of slots (ATTN_PACK_*): where a panel's elements lie, and how they are rounded.
#pragma once

#include "attn/panels.h"
#include "io/CodeLine.h"

namespace attn {

/// Whether 32 weights along k share a line or a scale.
constexpr bool hasGroups(int32_t layout) {
  const PanelFormat *format = panelFormatOf(layout);
  return format && format->hasGroups();
}

/// Whether the slot is computed from frequencies.
constexpr bool isOfAngles(int32_t layout) {
  return layout == ATTN_PACK_COSINES || layout == ATTN_PACK_SINES;
}

/// Whether the slot is rows, of f32 or of 16 bits, or else panels.
constexpr bool isOfRows(int32_t layout) {
  return layout == ATTN_PACK_ROWS || layout == ATTN_PACK_ROWS_BF16 ||
         layout == ATTN_PACK_ROWS_F16 || isOfAngles(layout);
}

/// Whether elements are stored as they are read.
constexpr bool isOfFloats(int32_t layout) {
  return layout == ATTN_PACK_ROWS || layout == ATTN_PACK_PANELS || isOfAngles(layout);
}

/// Stores `count` elements of a row of 16 bits from `to` on.
void storeRow(const attn_abi_slot &slot, const float *values, int64_t count, uint16_t *to);

/// Stores columns of a panel in the layout of a slot that is not f32. `values` are
/// [slot.k][columns], `column` is the first one's place in the slot, `base` that of the slot's
/// layer; the columns lie in one panel. `lines`, if any, say what codes the values are of, in
/// groups (GroupPanel.h).
void storePanel(const attn_abi_slot &slot, const float *values, const CodeLine *lines,
                int64_t column, int64_t columns, char *base);

/// Whether a slot keeps numbers in f16: its elements, or the lines of its groups.
constexpr bool keepsHalves(int32_t layout) {
  return layout == ATTN_PACK_ROWS_F16 || layout == ATTN_PACK_PANELS_F16 || hasGroups(layout);
}

/// The largest of `count` values that are finite and f16 cannot hold; 0 where it holds them all.
float largestBeyondHalf(const float *values, int64_t count);

/// The column, from 0 on, of a panel of groups with a line that is infinite or NaN in f16; -1 where
/// there is none. As storePanel has them, which has stored the columns.
int64_t columnBeyondHalf(const attn_abi_slot &slot, int64_t column, int64_t columns, char *base);

/// Whether a layout of groups can store codes of so many bits unchanged, on these lines. Without
/// offsets, the code in the middle has to stand for 0: 8 of half bytes, 128 of bytes.
bool takesCodes(int32_t layout, int bits, const CodeLine *lines, int64_t count);

/// As storePanel, of codes [columns][slot.k] and their lines, which the slot's layout takes.
void storeCodes(const attn_abi_slot &slot, const unsigned char *codes, const CodeLine *lines,
                int64_t column, int64_t columns, char *base);

/// Whether a slot and its parts stay inside the block and inside tensors of the parameters' shapes.
bool isSlotSound(const attn_abi_model &tables, const attn_abi_slot &slot);

} // namespace attn
