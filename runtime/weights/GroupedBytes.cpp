// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values to bytes with a scale for each 32 along k, and what int8 with a scale for a column makes
// of them.
#include "attn/abi.h"
#include "base/Dtype.h"
#include "weights/GroupPanel.h"
#include <cmath>
#include <initializer_list>

using namespace attn;

namespace {
/// A float for each column.
using Columns = float[ATTN_MAX_PANEL];
} // namespace

/// The scale in f16 next to a step; not below it, so that bytes do not end before the values do.
static uint16_t scaleAbove(float step) {
  uint16_t half = floatToHalf(step);
  return halfToFloat(half) < step ? uint16_t(half + 1) : half;
}

/// The scales of a group, as they are stored.
static void findScales(const float *values, const CodeLine *lines, int64_t columns,
                       uint16_t *scales) {
  Columns step = {}, inverse = {};
  uint32_t largest[ATTN_MAX_PANEL] = {}, off[ATTN_MAX_PANEL] = {}; // the former are bits of floats
  for (int64_t j = 0; j < columns && lines; ++j) {
    step[j] = halfToFloat(floatToHalf(lines[j].step));
    inverse[j] = step[j] != 0 ? 1 / step[j] : 0;
  }
  for (int64_t k = 0; k < lineElements; ++k)
    for (int64_t j = 0; j < columns; ++j) {
      float value = values[k * columns + j], number = roundedToWhole(value * inverse[j]);
      uint32_t magnitude = bitsOfFloat(value) & 0x7fffffff; // those of NaN are the largest
      largest[j] = magnitude > largest[j] ? magnitude : largest[j];
      bool isOne = fabsf(value - number * step[j]) <= 1e-3f * fabsf(step[j]),
           isWithin = fabsf(number + 0.5f) <= 127.5f; // -128 to 127
      off[j] |= uint32_t(!isOne) | uint32_t(!isWithin);
    }
  for (int64_t j = 0; j < columns; ++j)
    scales[j] =
        lines && !off[j] ? floatToHalf(lines[j].step) : scaleAbove(floatOfBits(largest[j]) / 127);
}

/// Stores the bytes of a group's values; adds its weights to `exact`, and the largest magnitudes to
/// `largest`.
static void storeBytes(const float *values, int64_t columns, const GroupPanel &to, int64_t group,
                       double *exact, float *largest) {
  Columns scale, inverse, sum = {}, low = {}, high = {};
  for (int64_t j = 0; j < columns; ++j) {
    scale[j] = halfToFloat(to.lines[group * to.width + j]);
    inverse[j] = scale[j] != 0 ? 1 / scale[j] : 0;
  }
  for (int64_t k = 0; k < lineElements; k += 4) {
    uint32_t words[ATTN_MAX_PANEL];
    for (int64_t j = 0; j < columns; ++j) {
      uint32_t word = 0;
      for (int64_t i = 0; i < 4; ++i) {
        float number = roundedToWhole(values[(k + i) * columns + j] * inverse[j]);
        // NaN becomes -128, its scale says what it is.
        number = number > -128 ? number : -128;
        number = number < 127 ? number : 127;
        sum[j] += number;
        low[j] = number < low[j] ? number : low[j];
        high[j] = number > high[j] ? number : high[j];
        word |= uint32_t(int32_t(number) & 255) << 8 * i;
      }
      words[j] = word;
    }
    memcpy(to.codes + (8 * group + k / 4) * 4 * to.width, words, 4 * size_t(columns));
  }
  for (int64_t j = 0; j < columns; ++j) {
    exact[j] += double(scale[j]) * double(sum[j]);
    for (float number : {low[j], high[j]}) {
      float magnitude = fabsf(scale[j] * number);
      largest[j] = magnitude > largest[j] || magnitude != magnitude ? magnitude : largest[j];
    }
  }
}

/// Adds up the bytes that kernels make of columns for many rows (abi.h).
static void addBytes(const GroupPanel &to, int64_t columns, int64_t groups) {
  int32_t sums[ATTN_MAX_PANEL] = {};
  for (int64_t group = 0; group < groups; ++group) {
    int16_t factors[ATTN_MAX_PANEL];
    for (int64_t j = 0; j < columns; ++j) {
      float inverse = to.byteScales[j] != 0 ? 256 / to.byteScales[j] : 0;
      factors[j] =
          static_cast<int16_t>(wholeOf(halfToFloat(to.lines[group * to.width + j]) * inverse));
    }
    for (int64_t k = 0; k < lineElements; k += 4) {
      uint32_t words[ATTN_MAX_PANEL];
      memcpy(words, to.codes + (8 * group + k / 4) * 4 * to.width, 4 * size_t(columns));
      for (int64_t j = 0; j < columns; ++j)
        for (int64_t i = 0; i < 4; ++i) {
          int32_t number = static_cast<int16_t>(words[j] >> 8 * i << 8) >> 8;
          sums[j] += static_cast<int16_t>(number * factors[j] + 128) >> 8;
        }
    }
  }
  memcpy(to.byteSums, sums, 4 * size_t(columns));
}

void attn::storeGroupedBytes(const float *values, const CodeLine *lines, int64_t rows,
                             int64_t columns, const GroupPanel &to) {
  double exact[ATTN_MAX_PANEL] = {};
  Columns largest = {};
  float padded[lineElements * ATTN_MAX_PANEL] = {};
  int64_t groups = (rows + lineElements - 1) / lineElements;
  for (int64_t group = 0; group < groups; ++group) {
    const float *own = values + group * lineElements * columns;
    int64_t left = rows - group * lineElements, count = left < lineElements ? left : lineElements;
    if (count < lineElements) { // zeros behind them
      memcpy(padded, own, 4 * size_t(count * columns));
      own = padded;
    }
    findScales(own, lines ? lines + group * columns : nullptr, columns,
               to.lines + group * to.width);
    storeBytes(own, columns, to, group, exact, largest);
  }
  for (int64_t j = 0; j < columns; ++j) {
    to.sums[j] = float(exact[j]);
    to.byteScales[j] = largest[j] / 127;
  }
  addBytes(to, columns, groups);
}
