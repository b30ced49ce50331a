// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the patches of a picture lie, as inputs beside them.
#pragma once

#include "attn/abi.h"
#include "attn/text.h"
#include "base/Vector.h"

namespace attn {

/// The numbers that an entry may take beside a picture's patches: `row` and `column` of each, i32
/// [patches], and the rows and columns of all, `grid: i32[2]`.
class PictureGrid {
public:
  /// Takes those of a picture; false where memory is lacking.
  bool take(const attn_picture &picture) {
    count = size_t(picture.count);
    if (!numbers.resize(2 * count + 2))
      return false;
    for (size_t patch = 0; patch < count; ++patch) {
      // Squares of patches follow each other row by row, and so do the patches of each.
      int64_t merged = picture.merged, inside = int64_t(patch) % (merged * merged),
              square = int64_t(patch) / (merged * merged), across = picture.columns / merged;
      numbers[patch] = int32_t(square / across * merged + inside / merged);
      numbers[count + patch] = int32_t(square % across * merged + inside % merged);
    }
    numbers[2 * count] = int32_t(picture.rows);
    numbers[2 * count + 1] = int32_t(picture.columns);
    return true;
  }
  /// Fills in an input; false where it is none of these. The tensor lasts as long as the numbers.
  bool bind(const attn_abi_tensor &input, attn_tensor &tensor) {
    bool isGrid = strcmp(input.name, "grid") == 0, isColumn = strcmp(input.name, "column") == 0;
    if (input.dtype != ATTN_I32 || input.rank != 1 ||
        !(isGrid || isColumn || strcmp(input.name, "row") == 0))
      return false;
    int32_t *first = numbers.data() + (isGrid ? 2 * count : isColumn ? count : 0);
    tensor = {first, ATTN_I32, 1, {isGrid ? 2 : int64_t(count)}, nullptr, 0, 0};
    return true;
  }
  /// The place of a patch.
  int64_t row(int64_t patch) const { return numbers[size_t(patch)]; }
  int64_t column(int64_t patch) const { return numbers[count + size_t(patch)]; }

private:
  size_t count = 0;
  Vector<int32_t> numbers; ///< rows, columns, and the two of the grid
};

} // namespace attn
