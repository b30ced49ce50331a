// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sizes of packed panels, by the rows of formats.def. The compiler, which plans the packed
// block, and the runtime, which fills it, both call these functions.
#pragma once

#include "abi.h"

namespace attn {

/// Weights along k that share a scale, and maybe an offset, in formats of groups.
constexpr int64_t scaleGroup = 32;

/// What has a scale of its own.
enum class PanelScale { None, Column, Groups };

/// a / b, rounded up.
constexpr int64_t panelCeilDiv(int64_t a, int64_t b) { return a / b + (a % b != 0); }

/// How the weights of a linear map lie in panels: a row of formats.def.
struct PanelFormat {
  int32_t layout; ///< ATTN_PACK_PANELS*
  int64_t bits;   ///< of a weight
  PanelScale scale;
  bool hasOffsets; ///< Whether groups have an offset beside their scale.
  int64_t granule; ///< Weights; columns are padded with zeros to multiples of it.

  /// Whether each 32 weights along k have a scale.
  constexpr bool hasGroups() const { return scale == PanelScale::Groups; }
  /// Whether a byte holds two weights.
  constexpr bool isOfHalfBytes() const { return bits == 4; }
  /// Weights along k that stand side by side in a word of four bytes.
  constexpr int64_t group() const { return 32 / bits; }
  /// Words of a column of k weights, the padding included.
  constexpr int64_t words(int64_t k) const {
    return panelCeilDiv(k, granule) * (granule / group());
  }
  /// Numbers in f16 that a column has for each group: the scale, and the offset if there is one.
  constexpr int64_t lineNumbers() const { return hasGroups() ? 1 + hasOffsets : 0; }
  /// The same of a column of k weights.
  constexpr int64_t lines(int64_t k) const { return lineNumbers() * panelCeilDiv(k, scaleGroup); }
};

/// Where the parts of a slot of panels begin, in bytes from its first one. `columns` are those of
/// whole panels. A part that the format does not have is empty.
struct PanelPlaces {
  int64_t lines;      ///< of groups, f16: [columns / width][format.lines(k)][width]
  int64_t sums;       ///< of groups, f32 [columns]: the sums of weights
  int64_t byteScales; ///< f32 [columns]: the scales of columns as signed bytes
  int64_t byteSums;   ///< i32 [columns]: the sums of these bytes
  int64_t end;

  constexpr PanelPlaces(const PanelFormat &format, int64_t k, int64_t columns)
      : lines(4 * columns * format.words(k)), sums(lines + 2 * columns * format.lines(k)),
        byteScales(sums + (format.hasGroups() ? 4 * columns : 0)),
        byteSums(byteScales + (format.scale != PanelScale::None ? 4 * columns : 0)),
        end(byteSums + (byteSums - byteScales)) {}
};

/// The columns of whole panels that hold `columns`.
constexpr int64_t paddedColumns(int64_t columns, int64_t width) {
  return panelCeilDiv(columns, width) * width;
}

/// The rows of formats.def.
inline constexpr PanelFormat panelFormats[] = {
#define ATTN_FORMAT(precision, panels, bits, scale, offsets, granule, rows, bound)                 \
  {panels, bits, PanelScale::scale, offsets != 0, granule},
#include "formats.def"
};

/// The format of a slot's panels; null where its layout is none of panels.
constexpr const PanelFormat *panelFormatOf(int32_t layout) {
  for (const PanelFormat &format : panelFormats)
    if (format.layout == layout)
      return &format;
  return nullptr;
}

} // namespace attn
