// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values to lines and codes, group by group of 32 along k, and what int8 makes of them.
#include "base/Dtype.h"
#include "weights/GroupPanel.h"

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

static constexpr float largestHalf = 65504;

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

/// The lines of a whole group (storeHalves).
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

/// The lines of a group without offsets: of six scales that give the value of largest magnitude a
/// number from -6.5 to -9, each moved to the least squares of its numbers' errors, the one with the
/// smallest sum of squares.
static void fitScales(const float *values, int64_t rows, int64_t columns, CodeLine *lines) {
  fitEnd(values, rows, columns, lines); // stays where the values are 0, infinite or NaN
  Columns first, best;
  for (int64_t j = 0; j < columns; ++j)
    first[j] = lines[j].step, best[j] = 0;
  for (int attempt = 0; attempt < 6; ++attempt) {
    Columns inverse, squares, products;
    for (int64_t j = 0; j < columns; ++j)
      inverse[j] = float(13 + attempt) / 16 / first[j], squares[j] = products[j] = 0;
    for (int64_t k = 0; k < rows; ++k)
      for (int64_t j = 0; j < columns; ++j) {
        float value = values[k * columns + j], number = roundedToWhole(value * inverse[j]);
        number = number > -8 ? number : -8;
        number = number < 7 ? number : 7;
        squares[j] += number * number, products[j] += number * value;
      }
    for (int64_t j = 0; j < columns; ++j) {
      float step = products[j] / squares[j], explained = step * products[j];
      if (explained > best[j])
        best[j] = explained, lines[j] = {step, -8 * step};
    }
  }
}

/// Stores lines; what becomes of them in f16 is `stored`. Where steps are nothing beside the
/// numbers, or nothing at all, all codes stand for the number in the middle.
static void storeLines(const CodeLine *lines, int64_t columns, const GroupPanel &to, int64_t group,
                       Lines &stored) {
  uint16_t *scales = to.lines + to.format.lineNumbers() * group * to.width,
           *offsets = scales + to.width;
  for (int64_t j = 0; j < columns; ++j) {
    auto [step, least] = lines[j];
    scales[j] = floatToHalf(step);
    if (!to.format.hasOffsets) {
      stored.scale[j] = halfToFloat(scales[j]), stored.offset[j] = 0;
      stored.isNumber[j] = stored.scale[j] == 0;
      continue;
    }
    float sixteenths = 16 * (8 + least / step);
    stored.isNumber[j] = halfToFloat(scales[j]) == 0 || fabsf(sixteenths) > largestHalf;
    if (stored.isNumber[j]) {
      scales[j] = floatToHalf(least + 7.5f * step);
      sixteenths = halfToFloat(scales[j]) != 0 ? 16 : 0;
    }
    stored.scale[j] = halfToFloat(scales[j]);
    offsets[j] = floatToHalf(sixteenths);
    stored.offset[j] = halfToFloat(offsets[j]) / 16;
  }
}

/// The numbers of a group, [32][columns]: value / scale - offset. Behind `rows`, and of lines that
/// are all one number, these are 0, and where a scale is 0, -8: bytes of 0, as in columns that
/// nothing fills.
static void findNumbers(const float *values, const Lines &stored, int64_t rows, int64_t columns,
                        float (*numbers)[ATTN_MAX_PANEL]) {
  Columns factor, offset, none;
  for (int64_t j = 0; j < columns; ++j) {
    none[j] = stored.scale[j] != 0 ? 0 : -8;
    factor[j] = stored.isNumber[j] ? 0 : 1 / stored.scale[j];
    offset[j] = stored.isNumber[j] ? -none[j] : stored.offset[j];
  }
  for (int64_t k = 0; k < rows; ++k)
    for (int64_t j = 0; j < columns; ++j) {
      float number = roundedToWhole(values[k * columns + j] * factor[j] - offset[j]);
      // NaN becomes -8, its scale says what it is.
      number = number > -8 ? number : -8;
      numbers[k][j] = number < 7 ? number : 7;
    }
  for (int64_t k = rows; k < lineElements; ++k)
    memcpy(numbers[k], none, sizeof none);
}

/// Stores the codes of a group's numbers.
static void storeHalves(const float (*numbers)[ATTN_MAX_PANEL], int64_t columns,
                        const GroupPanel &to, int64_t group) {
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
}

/// Stores codes of columns that are `rows` apart; of lines that are one number, what findNumbers
/// gives.
static void storeHalves(const unsigned char *codes, int64_t rows, const Lines &stored,
                        int64_t columns, const GroupPanel &to, int64_t group) {
  for (int64_t step = 0; step < 4; ++step) {
    uint32_t words[ATTN_MAX_PANEL];
    for (int64_t j = 0; j < columns; ++j) {
      uint32_t four[2];
      memcpy(four, codes + j * rows + 8 * step, sizeof four);
      words[j] = four[0] | four[1] << 4;
    }
    for (int64_t j = 0; j < columns; ++j)
      if (stored.isNumber[j])
        words[j] = stored.scale[j] != 0 ? 0x88888888 : 0;
    memcpy(to.codes + (4 * group + step) * 4 * to.width, words, 4 * size_t(columns));
  }
}

/// Adds a group whose codes are stored.
static void addGroup(const GroupPanel &to, const Lines &stored, int64_t columns, int64_t group,
                     ColumnTotals &totals) {
  constexpr int64_t most = 4 * ATTN_MAX_PANEL;
  unsigned char sums[most], low[most], high[most]; // of the eight codes in a byte's place
  memset(sums, 0, sizeof sums);
  memset(low, 15, sizeof low);
  memset(high, 0, sizeof high);
  const unsigned char *codes = to.codes + 16 * group * to.width;
  for (int64_t step = 0; step < 4; ++step, codes += 4 * to.width)
    for (int64_t i = 0; i < 4 * columns; ++i) {
      unsigned char code = codes[i] & 15, next = codes[i] >> 4;
      unsigned char less = code < next ? code : next, more = code < next ? next : code;
      low[i] = less < low[i] ? less : low[i];
      high[i] = more > high[i] ? more : high[i];
      sums[i] = static_cast<unsigned char>(sums[i] + code + next);
    }
  for (int64_t j = 0; j < columns; ++j) {
    int sum = -8 * lineElements, least = 15, greatest = 0;
    for (int64_t i = 4 * j; i < 4 * j + 4; ++i) {
      sum += sums[i];
      least = low[i] < least ? low[i] : least;
      greatest = high[i] > greatest ? high[i] : greatest;
    }
    float scale = stored.scale[j], offset = stored.offset[j];
    totals.add(j, double(scale) * (double(sum) + lineElements * double(offset)),
               scale * (float(least - 8) + offset), scale * (float(greatest - 8) + offset));
  }
}

/// Adds up the bytes that kernels make of columns for many rows (abi.h). Of each byte of codes the
/// column's line is there once more.
static void addBytesOfHalves(const GroupPanel &to, int64_t columns, int64_t groups) {
  constexpr int64_t most = 4 * ATTN_MAX_PANEL;
  int32_t sums[most] = {};
  for (int64_t group = 0; group < groups; ++group) {
    int16_t factors[most], shifts[most], own[most] = {};
    for (int64_t j = 0; j < columns; ++j) {
      const uint16_t *line = to.lines + to.format.lineNumbers() * group * to.width + j;
      float inverse = to.byteScales[j] != 0 ? 256 / to.byteScales[j] : 0,
            factor = halfToFloat(line[0]) * inverse,
            offset = to.format.hasOffsets ? halfToFloat(line[to.width]) * 0.0625f : 0,
            shift = factor * offset;
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

void attn::storeHalfBytes(const float *values, int64_t rows, int64_t columns,
                          const GroupPanel &to) {
  ColumnTotals totals;
  int64_t groups = (rows + lineElements - 1) / lineElements;
  for (int64_t group = 0; group < groups; ++group) {
    const float *own = values + group * lineElements * columns;
    int64_t left = rows - group * lineElements, count = left < lineElements ? left : lineElements;
    CodeLine lines[ATTN_MAX_PANEL];
    if (!to.format.hasOffsets)
      fitScales(own, count, columns, lines);
    else if (count < lineElements)
      fitEnd(own, count, columns, lines);
    else
      fitLines(own, columns, lines);
    Lines stored;
    storeLines(lines, columns, to, group, stored);
    float numbers[lineElements][ATTN_MAX_PANEL];
    findNumbers(own, stored, count, columns, numbers);
    storeHalves(numbers, columns, to, group);
    addGroup(to, stored, columns, group, totals);
  }
  totals.store(columns, to);
  addBytesOfHalves(to, columns, groups);
}

void attn::storeHalfBytes(const unsigned char *codes, const CodeLine *lines, int64_t rows,
                          int64_t columns, const GroupPanel &to) {
  ColumnTotals totals;
  int64_t groups = rows / lineElements;
  for (int64_t group = 0; group < groups; ++group) {
    Lines stored;
    storeLines(lines + group * columns, columns, to, group, stored);
    storeHalves(codes + group * lineElements, rows, stored, columns, to, group);
    addGroup(to, stored, columns, group, totals);
  }
  totals.store(columns, to);
  addBytesOfHalves(to, columns, groups);
}
