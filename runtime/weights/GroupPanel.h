// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Panels of groups: 32 weights along k are codes of 4 bits or bytes, with a scale and maybe an
// offset (panels.h).
#pragma once

#include "attn/panels.h"
#include "io/CodeLine.h"
#include <cmath>
#include <cstring>
#include <initializer_list>

namespace attn {

static_assert(lineElements == scaleGroup, "codes of files become groups of panels");

/// Where some columns of a panel and what belongs to them lie.
struct GroupPanel {
  const PanelFormat &format;
  int64_t width;        ///< columns of the whole panel
  unsigned char *codes; ///< [4 groups][width][4], of bytes [8 groups][width][4]
  uint16_t *lines;      ///< [groups][format.lineNumbers()][width] in f16: scales, and 16 times what
                        ///< is added to codes
  float *sums;          ///< of each column's weights
  float *byteScales;    ///< of the same column in int8
  int32_t *byteSums;    ///< of its bytes
};

/// What the weights of columns come to, group by group.
class ColumnTotals {
public:
  /// Adds a group of column j: its weights' sum, and those that the least and the greatest number
  /// stand for.
  void add(int64_t j, double sum, float least, float greatest) {
    sums[j] += sum;
    for (float weight : {least, greatest}) {
      float magnitude = fabsf(weight);
      bool isMore = magnitude > largest[j] || magnitude != magnitude; // a NaN stays
      largest[j] = isMore ? magnitude : largest[j];
    }
  }
  /// Stores the sums, and the scales of bytes.
  void store(int64_t columns, const GroupPanel &to) const {
    for (int64_t j = 0; j < columns; ++j) {
      to.sums[j] = float(sums[j]);
      to.byteScales[j] = largest[j] / 127;
    }
  }

private:
  double sums[ATTN_MAX_PANEL] = {};
  float largest[ATTN_MAX_PANEL] = {};
};

/// Stores values [rows][columns] as half bytes, on lines that fit them: of six whose codes cover a
/// little more or less than the values, each moved to the least squares of its codes' errors, the
/// one with the smallest sum of squares. Without offsets, lines go through 0.
void storeHalfBytes(const float *values, int64_t rows, int64_t columns, const GroupPanel &to);

/// The same of codes [columns][rows] from 0 to 15, with their `lines` [rows / 32][columns].
void storeHalfBytes(const unsigned char *codes, const CodeLine *lines, int64_t rows,
                    int64_t columns, const GroupPanel &to);

/// Stores values [rows][columns] as bytes. Scales are the steps of `lines`
/// [ceil(rows / 32)][columns], where there are some and a group's values are whole multiples of its
/// step that a byte holds; else the largest magnitude is 127.
void storeGroupedBytes(const float *values, const CodeLine *lines, int64_t rows, int64_t columns,
                       const GroupPanel &to);

/// The same of codes [columns][rows], whose numbers are the step of `lines` times code - 128.
void storeGroupedBytes(const unsigned char *codes, const CodeLine *lines, int64_t rows,
                       int64_t columns, const GroupPanel &to);

/// 1.5 * 2^23: added to a float, it leaves the whole number next to it, halves to even, in the low
/// bits; wholeMagicBits are the bits of the constant.
constexpr float wholeMagic = 12582912.0f;
constexpr int32_t wholeMagicBits = 0x4b400000;

/// The whole number next to a value below 2^22; of others anything.
inline int32_t wholeOf(float value) {
  float shifted = value + wholeMagic;
  int32_t bits;
  memcpy(&bits, &shifted, sizeof bits);
  return bits - wholeMagicBits;
}

/// The same as a float.
inline float roundedToWhole(float value) { return value + wholeMagic - wholeMagic; }

} // namespace attn
