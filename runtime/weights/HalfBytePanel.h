// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Panels of int4 (ATTN_PACK_PANELS_INT4): 32 weights along k are codes of 4 bits on a straight
// line.
#ifndef ATTN_WEIGHTS_HALF_BYTE_PANEL_H
#define ATTN_WEIGHTS_HALF_BYTE_PANEL_H
#include "io/CodeLine.h"

namespace attn {

/// Where some columns of a panel and what belongs to them lie.
struct HalfBytePanel {
  int64_t width;        ///< columns of the whole panel
  unsigned char *codes; ///< [4 groups][width][4]
  uint16_t *lines;      ///< [groups][2][width] in f16: scales, and 16 times what is added to codes
  float *sums;          ///< of each column's weights
  float *byteScales;    ///< of the same column in int8
  int32_t *byteSums;    ///< of its bytes
};

/// Stores values [rows][columns]. Codes are those of `lines` [ceil(rows / 32)][columns], or where
/// this is null, of lines that fit the values: of six whose codes cover a little more or less than
/// the values, each moved to the least squares of its codes' errors, the one with the smallest sum
/// of squares.
void storeHalfBytes(const float *values, const CodeLine *lines, int64_t rows, int64_t columns,
                    const HalfBytePanel &to);

} // namespace attn
#endif
