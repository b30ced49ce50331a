// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values to lines and codes, group by group of 32 along k, and what int8 makes of them.
#include "attn/abi.h"
#include "base/Dtype.h"
#include "weights/GroupPanel.h"
#include <cmath>
#include <initializer_list>

using namespace attn;

namespace {
/// A float for each column.
using Columns = float[ATTN_MAX_PANEL];

/// The lines of a group as they are stored, in f32: weights are scale * (number + offset), numbers
/// being codes less 8.
struct Lines {
  Columns scale, offset;
  bool isNumber[ATTN_MAX_PANEL]; ///< all codes stand for one number
};
} // namespace

static constexpr float kLargestHalf = 65504;

/// The line of a group that k ends in. It adds nothing to codes: behind k it has 0, too.
static void fitEnd(const float *values, int64_t rows, int64_t columns, CodeLine *lines) {
  for (int64_t j = 0; j < columns; ++j) {
    float extreme = 0;
    for (int64_t k = 0; k < rows; ++k) {
      float value = values[k * columns + j];
      // A NaN stays.
      extreme = fabsf(value) > fabsf(extreme) || value != value ? value : extreme;
    }
    float step = extreme / -8 + 0.0f; // no -0
    lines[j] = {step, -8 * step};
  }
}

/// The lines of a whole group (storeHalfBytes).
static void fitLines(const float *values, int64_t columns, CodeLine *lines) {
  Columns low, high, sum, best;
  for (int64_t j = 0; j < columns; ++j)
    low[j] = high[j] = values[j], sum[j] = 0, best[j] = -1;
  for (int64_t k = 0; k < lineElements; ++k)
    for (int64_t j = 0; j < columns; ++j) {
      float value = values[k * columns + j];
      low[j] = value < low[j] || value != value ? value : low[j];
      high[j] = value > high[j] || value != value ? value : high[j];
    }
  for (int64_t k = 0; k < lineElements; ++k)
    for (int64_t j = 0; j < columns; ++j)
      sum[j] += values[k * columns + j] - low[j];
  for (int64_t j = 0; j < columns; ++j)
    lines[j] = {high[j] - low[j], low[j]}; // 0, infinite or NaN where nothing below is better
  constexpr float fewest = 13.5f, more = 0.5f;
  for (int attempt = 0; attempt < 6; ++attempt) {
    Columns inverse, ones, squares, products;
    for (int64_t j = 0; j < columns; ++j) {
      inverse[j] = (fewest + more * float(attempt)) / (high[j] - low[j]);
      ones[j] = squares[j] = products[j] = 0;
    }
    for (int64_t k = 0; k < lineElements; ++k)
      for (int64_t j = 0; j < columns; ++j) {
        float value = values[k * columns + j] - low[j], code = roundedToWhole(value * inverse[j]);
        code = code < 15 ? code : 15;
        ones[j] += code, squares[j] += code * code, products[j] += code * value;
      }
    for (int64_t j = 0; j < columns; ++j) {
      constexpr auto count = float(lineElements);
      float step =
                (count * products[j] - ones[j] * sum[j]) / (count * squares[j] - ones[j] * ones[j]),
            least = (sum[j] - step * ones[j]) / count,
            explained = step * products[j] + least * sum[j]; // of the values' squares
      if (explained > best[j] && step > 0) // not where the values are all the same
        best[j] = explained, lines[j] = {step, low[j] + least};
    }
  }
}

/// Stores lines; what becomes of them in f16 is `stored`. Where steps are nothing beside the
/// numbers, or nothing at all, all codes stand for the number in the middle.
static void storeLines(const CodeLine *lines, int64_t columns, const GroupPanel &to, int64_t group,
                       Lines &stored) {
  uint16_t *scales = to.lines + 2 * group * to.width, *offsets = scales + to.width;
  for (int64_t j = 0; j < columns; ++j) {
    auto [step, least] = lines[j];
    float sixteenths = 16 * (8 + least / step);
    scales[j] = floatToHalf(step);
    stored.isNumber[j] = halfToFloat(scales[j]) == 0 || fabsf(sixteenths) > kLargestHalf;
    if (stored.isNumber[j]) {
      scales[j] = floatToHalf(least + 7.5f * step);
      sixteenths = halfToFloat(scales[j]) != 0 ? 16 : 0;
    }
    stored.scale[j] = halfToFloat(scales[j]);
    offsets[j] = floatToHalf(sixteenths);
    stored.offset[j] = halfToFloat(offsets[j]) / 16;
  }
}

/// The numbers of a group, [32][columns]: (value - least) / step - 8 of given lines, else value /
/// scale - offset. Behind `rows`, and of lines that are all one number, these are 0, and where a
/// scale is 0, -8: bytes of 0, as in columns that nothing fills.
static void findNumbers(const float *values, const CodeLine *lines, const Lines &stored,
                        int64_t rows, int64_t columns, float (*numbers)[ATTN_MAX_PANEL]) {
  Columns least, factor, offset, none;
  for (int64_t j = 0; j < columns; ++j) {
    float step = lines ? lines[j].step : stored.scale[j];
    none[j] = stored.scale[j] != 0 ? 0 : -8;
    bool isLine = !stored.isNumber[j];
    least[j] = isLine && lines ? lines[j].least : 0;
    factor[j] = isLine ? 1 / step : 0;
    offset[j] = !isLine ? -none[j] : lines ? 8 : stored.offset[j];
  }
  for (int64_t k = 0; k < rows; ++k)
    for (int64_t j = 0; j < columns; ++j) {
      float number = roundedToWhole((values[k * columns + j] - least[j]) * factor[j] - offset[j]);
      // NaN becomes -8, its scale says what it is.
      number = number > -8 ? number : -8;
      numbers[k][j] = number < 7 ? number : 7;
    }
  for (int64_t k = rows; k < lineElements; ++k)
    memcpy(numbers[k], none, sizeof none);
}

/// Stores the codes of a group's numbers; adds its weights to `exact`, and the largest magnitudes
/// to `largest`.
static void storeCodes(const float (*numbers)[ATTN_MAX_PANEL], const Lines &stored, int64_t columns,
                       const GroupPanel &to, int64_t group, double *exact, float *largest) {
  Columns sum, low, high;
  for (int64_t j = 0; j < columns; ++j)
    sum[j] = 0, low[j] = 7, high[j] = -8;
  for (int64_t k = 0; k < lineElements; ++k)
    for (int64_t j = 0; j < columns; ++j) {
      float number = numbers[k][j];
      sum[j] += number;
      low[j] = number < low[j] ? number : low[j];
      high[j] = number > high[j] ? number : high[j];
    }
  for (int64_t k = 0; k < lineElements; k += 8) {
    uint32_t words[ATTN_MAX_PANEL];
    for (int64_t j = 0; j < columns; ++j) {
      uint32_t word = 0;
      for (int64_t i = 0; i < 4; ++i) {
        int32_t code = int32_t(numbers[k + i][j]) + 8, next = int32_t(numbers[k + 4 + i][j]) + 8;
        word |= uint32_t(code | next << 4) << 8 * i;
      }
      words[j] = word;
    }
    memcpy(to.codes + (4 * group + k / 8) * 4 * to.width, words, 4 * size_t(columns));
  }
  for (int64_t j = 0; j < columns; ++j) {
    float scale = stored.scale[j], offset = stored.offset[j];
    exact[j] += double(scale) * (double(sum[j]) + lineElements * double(offset));
    for (float number : {low[j], high[j]}) {
      float magnitude = fabsf(scale * (number + offset));
      largest[j] = magnitude > largest[j] || magnitude != magnitude ? magnitude : largest[j];
    }
  }
}

/// Adds up the bytes that kernels make of columns for many rows (abi.h). Of each byte of codes the
/// column's line is there once more.
static void addBytes(const GroupPanel &to, int64_t columns, int64_t groups) {
  constexpr int64_t most = 4 * ATTN_MAX_PANEL;
  int32_t sums[most] = {};
  for (int64_t group = 0; group < groups; ++group) {
    int16_t factors[most], shifts[most], own[most] = {};
    for (int64_t j = 0; j < columns; ++j) {
      const uint16_t *line = to.lines + 2 * group * to.width + j;
      float inverse = to.byteScales[j] != 0 ? 256 / to.byteScales[j] : 0,
            factor = halfToFloat(line[0]) * inverse,
            shift = factor * (halfToFloat(line[to.width]) * 0.0625f);
      for (int64_t i = 4 * j; i < 4 * j + 4; ++i) {
        factors[i] = static_cast<int16_t>(wholeOf(factor));
        shifts[i] = static_cast<int16_t>(wholeOf(shift) + 128);
      }
    }
    const unsigned char *codes = to.codes + 16 * group * to.width;
    for (int64_t step = 0; step < 4; ++step, codes += 4 * to.width)
      for (int64_t i = 0; i < 4 * columns; ++i) {
        int number = (codes[i] & 15) - 8, next = (codes[i] >> 4) - 8;
        auto product = static_cast<int16_t>(number * factors[i] + shifts[i]),
             other = static_cast<int16_t>(next * factors[i] + shifts[i]);
        own[i] = static_cast<int16_t>(own[i] + (product >> 8) + (other >> 8));
      }
    for (int64_t i = 0; i < 4 * columns; ++i)
      sums[i] += own[i];
  }
  for (int64_t j = 0; j < columns; ++j)
    to.byteSums[j] = sums[4 * j] + sums[4 * j + 1] + sums[4 * j + 2] + sums[4 * j + 3];
}

void attn::storeHalfBytes(const float *values, const CodeLine *lines, int64_t rows, int64_t columns,
                          const GroupPanel &to) {
  double exact[ATTN_MAX_PANEL] = {};
  Columns largest = {};
  int64_t groups = (rows + lineElements - 1) / lineElements;
  for (int64_t group = 0; group < groups; ++group) {
    const float *own = values + group * lineElements * columns;
    int64_t count = rows - group * lineElements;
    const CodeLine *given = lines ? lines + group * columns : nullptr;
    CodeLine fitted[ATTN_MAX_PANEL];
    if (count < lineElements)
      fitEnd(own, count, columns, fitted), given = nullptr;
    else if (!given)
      fitLines(own, columns, fitted);
    Lines stored;
    storeLines(given ? given : fitted, columns, to, group, stored);
    float numbers[lineElements][ATTN_MAX_PANEL];
    findNumbers(own, given, stored, count < lineElements ? count : lineElements, columns, numbers);
    storeCodes(numbers, stored, columns, to, group, exact, largest);
  }
  for (int64_t j = 0; j < columns; ++j) {
    to.sums[j] = float(exact[j]);
    to.byteScales[j] = largest[j] / 127;
  }
  addBytes(to, columns, groups);
}
