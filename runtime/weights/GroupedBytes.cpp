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

/// The scales of a group of `rows` rows, as they are stored.
static void findScales(const float *values, const CodeLine *lines, int64_t rows, int64_t columns,
                       uint16_t *scales) {
  Columns largest = {}, step = {}, inverse = {}, off = {};
  for (int64_t j = 0; j < columns && lines; ++j) {
    step[j] = halfToFloat(floatToHalf(lines[j].step));
    inverse[j] = step[j] != 0 ? 1 / step[j] : 0;
  }
  for (int64_t k = 0; k < rows; ++k)
    for (int64_t j = 0; j < columns; ++j) {
      float value = values[k * columns + j], magnitude = fabsf(value),
            number = roundedToWhole(value * inverse[j]), error = fabsf(value - number * step[j]);
      // A NaN stays.
      largest[j] = magnitude > largest[j] || magnitude != magnitude ? magnitude : largest[j];
      bool isWithin = number >= -128 && number <= 127;
      off[j] = isWithin && error <= 1e-3f * fabsf(step[j]) ? off[j] : 1;
    }
  for (int64_t j = 0; j < columns; ++j)
    scales[j] = lines && off[j] == 0 ? floatToHalf(lines[j].step) : scaleAbove(largest[j] / 127);
}

/// Stores the bytes of a group's values, zeros behind `rows`; adds its weights to `exact`, and the
/// largest magnitudes to `largest`.
static void storeBytes(const float *values, int64_t rows, int64_t columns, const GroupPanel &to,
                       int64_t group, double *exact, float *largest) {
  Columns scale, inverse, sum = {}, low = {}, high = {};
  for (int64_t j = 0; j < columns; ++j) {
    scale[j] = halfToFloat(to.lines[group * to.width + j]);
    inverse[j] = scale[j] != 0 ? 1 / scale[j] : 0;
  }
  for (int64_t k = 0; k < lineElements; ++k) {
    unsigned char *bytes = to.codes + (8 * group + k / 4) * 4 * to.width + k % 4;
    for (int64_t j = 0; j < columns; ++j) {
      float number = k < rows ? roundedToWhole(values[k * columns + j] * inverse[j]) : 0;
      // NaN becomes -128, its scale says what it is.
      number = number > -128 ? number : -128;
      number = number < 127 ? number : 127;
      sum[j] += number;
      low[j] = number < low[j] ? number : low[j];
      high[j] = number > high[j] ? number : high[j];
      bytes[4 * j] = static_cast<unsigned char>(static_cast<signed char>(number));
    }
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
  for (int64_t j = 0; j < columns; ++j)
    to.byteSums[j] = 0;
  for (int64_t group = 0; group < groups; ++group) {
    int16_t factors[ATTN_MAX_PANEL];
    for (int64_t j = 0; j < columns; ++j) {
      float inverse = to.byteScales[j] != 0 ? 256 / to.byteScales[j] : 0;
      factors[j] =
          static_cast<int16_t>(wholeOf(halfToFloat(to.lines[group * to.width + j]) * inverse));
    }
    for (int64_t k = 0; k < lineElements; ++k) {
      const unsigned char *bytes = to.codes + (8 * group + k / 4) * 4 * to.width + k % 4;
      for (int64_t j = 0; j < columns; ++j) {
        int number = static_cast<signed char>(bytes[4 * j]);
        to.byteSums[j] += static_cast<int16_t>(number * factors[j] + 128) >> 8;
      }
    }
  }
}

void attn::storeGroupedBytes(const float *values, const CodeLine *lines, int64_t rows,
                             int64_t columns, const GroupPanel &to) {
  double exact[ATTN_MAX_PANEL] = {};
  Columns largest = {};
  int64_t groups = (rows + lineElements - 1) / lineElements;
  for (int64_t group = 0; group < groups; ++group) {
    const float *own = values + group * lineElements * columns;
    int64_t left = rows - group * lineElements, count = left < lineElements ? left : lineElements;
    findScales(own, lines ? lines + group * columns : nullptr, count, columns,
               to.lines + group * to.width);
    storeBytes(own, count, columns, to, group, exact, largest);
  }
  for (int64_t j = 0; j < columns; ++j) {
    to.sums[j] = float(exact[j]);
    to.byteScales[j] = largest[j] / 127;
  }
  addBytes(to, columns, groups);
}
