// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values to bytes with a scale for each 32 along k, and what int8 with a scale for a column makes
// of them.
#include "base/Dtype.h"
#include "weights/GroupPanel.h"

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

/// Stores the bytes of a group's values.
static void storeBytes(const float *values, int64_t columns, const GroupPanel &to, int64_t group) {
  Columns inverse;
  for (int64_t j = 0; j < columns; ++j) {
    float scale = halfToFloat(to.lines[group * to.width + j]);
    inverse[j] = scale != 0 ? 1 / scale : 0;
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
        word |= uint32_t(int32_t(number) & 255) << 8 * i;
      }
      words[j] = word;
    }
    memcpy(to.codes + (8 * group + k / 4) * 4 * to.width, words, 4 * size_t(columns));
  }
}

/// Stores codes of columns that are `rows` apart, and the group's scales.
static void storeBytes(const unsigned char *codes, const CodeLine *lines, int64_t rows,
                       int64_t columns, const GroupPanel &to, int64_t group) {
  for (int64_t j = 0; j < columns; ++j)
    to.lines[group * to.width + j] = floatToHalf(lines[j].step);
  for (int64_t k = 0; k < lineElements; k += 4) {
    uint32_t words[ATTN_MAX_PANEL];
    for (int64_t j = 0; j < columns; ++j) {
      memcpy(&words[j], codes + j * rows + k, 4);
      words[j] ^= 0x80808080;
    }
    memcpy(to.codes + (8 * group + k / 4) * 4 * to.width, words, 4 * size_t(columns));
  }
}

/// Adds a group whose bytes are stored.
static void addGroup(const GroupPanel &to, int64_t columns, int64_t group, ColumnTotals &totals) {
  constexpr int64_t most = 4 * ATTN_MAX_PANEL;
  int16_t sums[most] = {};
  signed char low[most] = {}, high[most] = {}; // of the eight bytes in a byte's place
  const auto *bytes = reinterpret_cast<const signed char *>(to.codes + 32 * group * to.width);
  for (int64_t step = 0; step < 8; ++step, bytes += 4 * to.width)
    for (int64_t i = 0; i < 4 * columns; ++i) {
      signed char number = bytes[i];
      low[i] = number < low[i] ? number : low[i];
      high[i] = number > high[i] ? number : high[i];
      sums[i] = static_cast<int16_t>(sums[i] + number);
    }
  for (int64_t j = 0; j < columns; ++j) {
    int sum = 0, least = 0, greatest = 0;
    for (int64_t i = 4 * j; i < 4 * j + 4; ++i) {
      sum += sums[i];
      least = low[i] < least ? low[i] : least;
      greatest = high[i] > greatest ? high[i] : greatest;
    }
    float scale = halfToFloat(to.lines[group * to.width + j]);
    totals.add(j, double(scale) * double(sum), scale * float(least), scale * float(greatest));
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
  ColumnTotals totals;
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
    storeBytes(own, columns, to, group);
    addGroup(to, columns, group, totals);
  }
  totals.store(columns, to);
  addBytes(to, columns, groups);
}

void attn::storeGroupedBytes(const unsigned char *codes, const CodeLine *lines, int64_t rows,
                             int64_t columns, const GroupPanel &to) {
  ColumnTotals totals;
  int64_t groups = rows / lineElements;
  for (int64_t group = 0; group < groups; ++group) {
    storeBytes(codes + group * lineElements, lines + group * columns, rows, columns, to, group);
    addGroup(to, columns, group, totals);
  }
  totals.store(columns, to);
  addBytes(to, columns, groups);
}
