// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of bf16 and f16, panels of these, int8 and int4, and the check of a table of slots.
#include "weights/PanelLayout.h"
#include "base/Dtype.h"
#include "weights/GroupPanel.h"
#include <algorithm>
#include <cmath>
#include <cstring>

using namespace attn;

/// Values [k][columns] as pairs along k, each rounded by `round`; behind the last, 0.
template <typename Round>
static void storePairs(const float *values, int64_t rows, int64_t columns, int64_t width,
                       uint32_t *to, Round round) {
  int64_t k = 0;
  for (; k + 2 <= rows; k += 2, to += width) {
    const float *first = values + k * columns, *second = first + columns;
    for (int64_t j = 0; j < columns; ++j)
      to[j] = round(first[j]) | uint32_t(round(second[j])) << 16;
  }
  for (int64_t j = 0; k < rows && j < columns; ++j)
    to[j] = round(values[k * columns + j]);
}

/// The word of four numbers' bytes, the first lowest.
static uint32_t wordOfBytes(const int32_t (&numbers)[4]) {
  uint32_t word = 0;
  for (int i = 0; i < 4; ++i)
    word |= uint32_t(numbers[i] & 255) << 8 * i;
  return word;
}

/// Values [k][columns] as signed bytes, by fours along k, and each column's scale and sum.
static void storeBytes(const float *values, int64_t rows, int64_t columns, int64_t width,
                       uint32_t *to, float *scales, int32_t *sums) {
  float inverse[ATTN_MAX_PANEL];
  for (int64_t j = 0; j < columns; ++j)
    scales[j] = 0, sums[j] = 0;
  for (int64_t k = 0; k < rows; ++k)
    for (int64_t j = 0; j < columns; ++j) {
      float magnitude = fabsf(values[k * columns + j]);
      scales[j] = magnitude > scales[j] || magnitude != magnitude ? magnitude : scales[j];
    }
  for (int64_t j = 0; j < columns; ++j) {
    inverse[j] = scales[j] > 0 ? 127 / scales[j] : 0;
    scales[j] /= 127;
  }
  // A column with NaN or an infinity has a scale that says so; its bytes are anything.
  auto byteOf = [](float value, float factor) {
    return int32_t(static_cast<signed char>(wholeOf(value * factor)));
  };
  int64_t k = 0;
  for (; k + 4 <= rows; k += 4, to += width) {
    const float *own = values + k * columns;
    for (int64_t j = 0; j < columns; ++j) {
      int32_t bytes[4];
      for (int64_t i = 0; i < 4; ++i)
        bytes[i] = byteOf(own[i * columns + j], inverse[j]);
      to[j] = wordOfBytes(bytes);
      sums[j] += bytes[0] + bytes[1] + bytes[2] + bytes[3];
    }
  }
  for (int64_t j = 0; k < rows && j < columns; ++j) {
    int32_t bytes[4] = {};
    for (int64_t i = 0; i < rows - k; ++i) {
      bytes[i] = byteOf(values[(k + i) * columns + j], inverse[j]);
      sums[j] += bytes[i];
    }
    to[j] = wordOfBytes(bytes);
  }
}

/// Columns of a panel of groups: `panels` are all panels, `column` that of the slot.
static GroupPanel groupPanel(const attn_abi_slot &slot, int64_t column, char *panels) {
  const PanelFormat &format = *panelFormatOf(slot.layout);
  int64_t width = slot.width, within = column % width, panel = column / width;
  PanelPlaces places(format, slot.k, slot.padded);
  auto *codes = reinterpret_cast<unsigned char *>(panels);
  return {format,
          width,
          codes + 4 * (panel * format.words(slot.k) * width + within),
          reinterpret_cast<uint16_t *>(panels + places.lines) +
              panel * format.lines(slot.k) * width + within,
          reinterpret_cast<float *>(panels + places.sums) + column,
          reinterpret_cast<float *>(panels + places.byteScales) + column,
          reinterpret_cast<int32_t *>(panels + places.byteSums) + column};
}

void attn::storeRow(const attn_abi_slot &slot, const float *values, int64_t count, uint16_t *to) {
  if (slot.layout == ATTN_PACK_ROWS_BF16)
    for (int64_t i = 0; i < count; ++i)
      to[i] = floatToBfloat(values[i]);
  else
    for (int64_t i = 0; i < count; ++i)
      to[i] = floatToHalf(values[i]);
}

void attn::storePanel(const attn_abi_slot &slot, const float *values, const CodeLine *lines,
                      int64_t column, int64_t columns, char *base) {
  int64_t width = slot.width, within = column % width;
  const PanelFormat &format = *panelFormatOf(slot.layout);
  if (format.isOfHalfBytes())
    return storeHalfBytes(values, slot.k, columns, groupPanel(slot, column, base));
  if (format.hasGroups())
    return storeGroupedBytes(values, lines, slot.k, columns, groupPanel(slot, column, base));
  char *panel = base + column / width * 4 * format.words(slot.k) * width + 4 * within;
  auto *words = reinterpret_cast<uint32_t *>(panel);
  if (slot.layout == ATTN_PACK_PANELS_BF16)
    return storePairs(values, slot.k, columns, width, words,
                      [](float value) { return floatToBfloat(value); });
  if (slot.layout == ATTN_PACK_PANELS_F16)
    return storePairs(values, slot.k, columns, width, words,
                      [](float value) { return floatToHalf(value); });
  PanelPlaces places(format, slot.k, slot.padded);
  float *scales = reinterpret_cast<float *>(base + places.byteScales);
  int32_t *sums = reinterpret_cast<int32_t *>(base + places.byteSums);
  storeBytes(values, slot.k, columns, width, words, scales + column, sums + column);
}

float attn::largestBeyondHalf(const float *values, int64_t count) {
  constexpr uint32_t infinite = 0x7f800000, least = 0x477ff000; // 65520, which rounds to infinity
  uint32_t largest = 0;
  for (int64_t i = 0; i < count; ++i) {
    uint32_t magnitude = bitsOfFloat(values[i]) & 0x7fffffff;
    magnitude = magnitude < infinite ? magnitude : 0;
    largest = magnitude > largest ? magnitude : largest;
  }
  return largest >= least ? floatOfBits(largest) : 0;
}

int64_t attn::columnBeyondHalf(const attn_abi_slot &slot, int64_t column, int64_t columns,
                               char *base) {
  const uint16_t *lines = groupPanel(slot, column, base).lines;
  int64_t count = panelFormatOf(slot.layout)->lines(slot.k);
  for (int64_t line = 0; line < count; ++line, lines += slot.width)
    for (int64_t j = 0; j < columns; ++j)
      if ((lines[j] & 0x7c00) == 0x7c00)
        return j;
  return -1;
}

bool attn::takesCodes(int32_t layout, int bits, const CodeLine *lines, int64_t count) {
  const PanelFormat &format = *panelFormatOf(layout);
  if (format.bits != bits || format.hasOffsets)
    return format.bits == bits;
  auto middle = float(1 << (bits - 1)); // the code of 0
  bool areMiddle = true;
  for (int64_t i = 0; i < count; ++i)
    areMiddle &= lines[i].least == -middle * lines[i].step;
  return areMiddle;
}

void attn::storeCodes(const attn_abi_slot &slot, const unsigned char *codes, const CodeLine *lines,
                      int64_t column, int64_t columns, char *base) {
  GroupPanel to = groupPanel(slot, column, base);
  if (panelFormatOf(slot.layout)->isOfHalfBytes())
    storeHalfBytes(codes, lines, slot.k, columns, to);
  else
    storeGroupedBytes(codes, lines, slot.k, columns, to);
}

/// Bytes that `columns` of a slot take, those of the last panel's padding among them.
static bool countBytes(const attn_abi_slot &slot, int64_t &bytes) {
  if (slot.k > INT64_MAX / 8)
    return false;
  if (isOfRows(slot.layout))
    return !__builtin_mul_overflow(slot.columns, (isOfFloats(slot.layout) ? 4 : 2) * slot.k,
                                   &bytes);
  int64_t ofColumn = PanelPlaces(*panelFormatOf(slot.layout), slot.k, 1).end;
  return slot.columns <= slot.padded && !__builtin_mul_overflow(slot.padded, ofColumn, &bytes);
}

bool attn::isSlotSound(const attn_abi_model &tables, const attn_abi_slot &slot) {
  if (slot.k < 0 || slot.columns < 0 || slot.layers < 1 || slot.offset < 0 || slot.offset % 4 ||
      slot.layerStride % 4 || slot.layerStride < 0 ||
      (!isOfRows(slot.layout) && (!panelFormatOf(slot.layout) || slot.width < 1 ||
                                  slot.width > ATTN_MAX_PANEL || slot.padded % slot.width != 0)) ||
      (hasGroups(slot.layout) && slot.width % 2 != 0) ||
      (isOfAngles(slot.layout) && (slot.partCount != 0 || !slot.frequencies || slot.layers != 1)))
    return false;
  int64_t bytes, end;
  if (!countBytes(slot, bytes) || bytes > slot.bytes ||
      __builtin_mul_overflow(int64_t(slot.layers) - 1, slot.layerStride, &end) ||
      __builtin_add_overflow(end, slot.offset, &end) ||
      __builtin_add_overflow(end, slot.bytes, &end) || end > tables.packedBytes)
    return false;
  for (int32_t i = 0; i < slot.partCount; ++i) {
    const attn_abi_part &part = slot.parts[i];
    if (part.parameter < 0 || part.parameter >= tables.parameterCount || part.column < 0 ||
        part.count < 0 || part.inner < 1 || part.kStride < 0 || part.innerStride < 0 ||
        part.outerStride < 0 || part.kInner < 0 || part.kOuterStride < 0 || part.offset < 0 ||
        part.column > slot.columns - part.count)
      return false;
    if (part.count == 0 || slot.k == 0)
      continue;
    const attn_abi_parameter &parameter = tables.parameters[part.parameter];
    int64_t total, inner = std::min(part.inner, part.count) - 1;
    int64_t kInner = part.kInner ? std::min(part.kInner, slot.k) : slot.k;
    int64_t last = part.offset + (slot.k - 1) / kInner * part.kOuterStride +
                   (kInner - 1) * part.kStride + (part.count - 1) / part.inner * part.outerStride +
                   inner * part.innerStride;
    if (!countElements(parameter.shape, parameter.rank, total) || last >= total ||
        parameter.layers > slot.layers || !isFloat(parameter.dtype))
      return false;
  }
  return true;
}
