// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Panels of bf16, f16, int8 and int4, and the check of a table of slots.
#include "weights/PanelLayout.h"
#include "base/Dtype.h"
#include <cmath>
#include <cstring>

using namespace attn;

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

/// Values [k][columns] as pairs along k, each rounded by `round`.
template <typename Round>
static void storePairs(const float *values, int64_t rows, int64_t columns, int64_t width,
                       uint16_t *to, Round round) {
  for (int64_t k = 0; k < rows; ++k)
    for (int64_t j = 0; j < columns; ++j)
      to[k / 2 * 2 * width + 2 * j + k % 2] = round(values[k * columns + j]);
}

/// Values [k][columns] as signed bytes, by fours along k, and each column's scale and sum.
static void storeBytes(const float *values, int64_t rows, int64_t columns, int64_t width,
                       signed char *to, float *scales, int32_t *sums) {
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
  for (int64_t k = 0; k < rows; ++k)
    for (int64_t j = 0; j < columns; ++j) {
      // Adding 1.5 * 2^23 leaves the integer, rounded to nearest even, in the low bits. A column
      // with NaN or an infinity has a scale that says so; its bytes are anything.
      float shifted = values[k * columns + j] * inverse[j] + 12582912.0f;
      int32_t bits;
      memcpy(&bits, &shifted, sizeof bits);
      signed char byte = static_cast<signed char>(bits);
      to[k / 4 * 4 * width + 4 * j + k % 4] = byte;
      sums[j] += byte;
    }
}

/// Values [k][columns] as numbers from -8 to 7, each plus 8 in half a byte, with a scale for every
/// 32 along k and column, and the sum of a column's scaled numbers. `columns` of the panel's
/// `width`.
static void storeHalfBytes(const float *values, int64_t rows, int64_t columns, int64_t width,
                           unsigned char *to, uint16_t *scales, float *sums) {
  constexpr int64_t scaleRows = 32;
  double exact[ATTN_MAX_PANEL] = {};
  for (int64_t first = 0; first < rows; first += scaleRows, scales += width) {
    int64_t end = smaller(rows, first + scaleRows);
    float extremes[ATTN_MAX_PANEL] = {}, inverse[ATTN_MAX_PANEL], own[ATTN_MAX_PANEL],
          lowest[ATTN_MAX_PANEL];
    for (int64_t k = first; k < end; ++k)
      for (int64_t j = 0; j < columns; ++j) {
        float value = values[k * columns + j];
        // A NaN stays.
        extremes[j] = fabsf(value) > fabsf(extremes[j]) || value != value ? value : extremes[j];
      }
    for (int64_t j = 0; j < columns; ++j) {
      scales[j] = floatToBfloat(extremes[j] / -8 + 0.0f); // no -0
      own[j] = bfloatToFloat(scales[j]);
      inverse[j] = own[j] != 0 ? 1 / own[j] : 0;
      lowest[j] = own[j] != 0 ? 0 : -8; // bytes of 0, as in columns that nothing fills
    }
    for (int64_t k = first; k < first + scaleRows; ++k)
      for (int64_t j = 0; j < columns; ++j) {
        // As in storeBytes; NaN becomes -8, its scale says what it is.
        float scaled = lowest[j] + (k < end ? values[k * columns + j] * inverse[j] : 0);
        scaled = scaled > -8 ? scaled : -8;
        float shifted = (scaled < 7 ? scaled : 7) + 12582912.0f;
        int32_t bits;
        memcpy(&bits, &shifted, sizeof bits);
        int32_t number = bits - 0x4b400000; // the bits of 1.5 * 2^23
        int64_t byte = k / 8 * 4 * width + 4 * j + k % 4;
        unsigned char half = static_cast<unsigned char>(number + 8);
        to[byte] = k % 8 < 4 ? half : static_cast<unsigned char>(to[byte] | half << 4);
        exact[j] += double(own[j]) * number;
      }
  }
  for (int64_t j = 0; j < columns; ++j)
    sums[j] = float(exact[j]);
}

/// Rows of four bytes for each column, in a panel.
static int64_t groupsOf(const attn_abi_slot &slot) {
  auto ceilDiv = [](int64_t a, int64_t b) { return a / b + (a % b != 0); };
  if (slot.layout == ATTN_PACK_PANELS_INT4)
    return ceilDiv(slot.k, 32) * 4;
  if (slot.layout == ATTN_PACK_PANELS_INT8)
    return ceilDiv(slot.k, 64) * 16;
  return slot.layout > ATTN_PACK_PANELS ? ceilDiv(slot.k, 32) * 16 : slot.k; // pairs
}

/// Bytes that follow the panels for each column: scales and sums.
static int64_t bytesBehind(const attn_abi_slot &slot) {
  if (slot.layout == ATTN_PACK_PANELS_INT4)
    return groupsOf(slot) / 4 * 2 + 4;
  return slot.layout == ATTN_PACK_PANELS_INT8 ? 8 : 0;
}

void attn::storePanel(const attn_abi_slot &slot, const float *values, int64_t column,
                      int64_t columns, char *base) {
  int64_t width = slot.width, within = column % width;
  int64_t panelBytes = 4 * groupsOf(slot) * width;
  char *panel = base + column / width * panelBytes + 4 * within;
  uint16_t *pairs = reinterpret_cast<uint16_t *>(panel);
  if (slot.layout == ATTN_PACK_PANELS_BF16)
    return storePairs(values, slot.k, columns, width, pairs,
                      [](float value) { return floatToBfloat(value); });
  if (slot.layout == ATTN_PACK_PANELS_F16)
    return storePairs(values, slot.k, columns, width, pairs,
                      [](float value) { return floatToHalf(value); });
  int64_t panels = (slot.columns + width - 1) / width;
  if (slot.layout == ATTN_PACK_PANELS_INT4) {
    int64_t panelScales = groupsOf(slot) / 4 * width;
    uint16_t *scales = reinterpret_cast<uint16_t *>(base + panels * panelBytes);
    float *sums = reinterpret_cast<float *>(scales + panels * panelScales);
    return storeHalfBytes(values, slot.k, columns, width, reinterpret_cast<unsigned char *>(panel),
                          scales + column / width * panelScales + within, sums + column);
  }
  float *scales = reinterpret_cast<float *>(base + panels * panelBytes);
  int32_t *sums = reinterpret_cast<int32_t *>(scales + panels * width);
  storeBytes(values, slot.k, columns, width, reinterpret_cast<signed char *>(panel),
             scales + column, sums + column);
}

bool attn::isSlotSound(const attn_abi_model &tables, const attn_abi_slot &slot) {
  bool isPanels = slot.layout != ATTN_PACK_ROWS;
  if (slot.k < 0 || slot.columns < 0 || slot.layers < 1 || slot.offset < 0 || slot.offset % 4 ||
      slot.layerStride % 4 || slot.layerStride < 0 || slot.layout < ATTN_PACK_ROWS ||
      slot.layout > ATTN_PACK_PANELS_F16 ||
      (isPanels && (slot.width < 1 || slot.width > ATTN_MAX_PANEL)) ||
      (slot.layout == ATTN_PACK_PANELS_INT4 && slot.width % 2 != 0))
    return false;
  int64_t columns = slot.columns, bytes, end;
  if (isPanels)
    columns = (slot.columns + slot.width - 1) / slot.width * slot.width;
  if (slot.k > INT64_MAX / 8)
    return false;
  if (__builtin_mul_overflow(columns, 4 * groupsOf(slot) + bytesBehind(slot), &bytes) ||
      bytes > slot.bytes ||
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
    int64_t total, inner = smaller(part.inner, part.count) - 1;
    int64_t kInner = part.kInner ? smaller(part.kInner, slot.k) : slot.k;
    int64_t last = part.offset + (slot.k - 1) / kInner * part.kOuterStride +
                   (kInner - 1) * part.kStride + (part.count - 1) / part.inner * part.outerStride +
                   inner * part.innerStride;
    if (!countElements(parameter.shape, parameter.rank, total) || last >= total ||
        parameter.layers > slot.layers || !isFloat(parameter.dtype))
      return false;
  }
  return true;
}
