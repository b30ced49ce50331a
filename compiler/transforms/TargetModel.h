// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What default sizes of tiles are computed from: a core of the CPUs that code is made for, and the
// model it is mostly used for. Measured choices (compiler/transforms/Tuning.h) stand in for them,
// shape by shape.
#pragma once

#include <cstdint>

namespace attn {

/// Round numbers for a core, which the default sizes of tiles follow from.
struct TargetModel {
  static constexpr int64_t l1Bytes = int64_t(32) << 10, l2Bytes = int64_t(1) << 20;
  /// A core's part of the third-level cache.
  static constexpr int64_t l3Bytes = int64_t(4) << 20;
  static constexpr int64_t floatBytes = 4;
  static constexpr int64_t headFeatures = 64;
  /// The rows that should stay together: about those of a picture cut into 14 x 14 patches, and a
  /// class.
  static constexpr int64_t tokens = 200;

  /// Elements along k, at most, of the part of a linear that its rows go through together.
  static constexpr int64_t partDepth = 800;
  /// The same of bytes.
  static constexpr int64_t byteDepth = 4 * partDepth;

  /// Rows, at most, whose weights come from memory faster than tile registers would be filled.
  static constexpr int64_t fewRows = 8;
  /// Rows, at most, that are not worth to widen panels of int4 for.
  static constexpr int64_t fewRowsOfHalfBytes = 24;
  /// Rows of a tile register; rows whose sums are in tile registers at a time; the most rows that
  /// go through a part of all panels together.
  static constexpr int64_t tileRows = 16, tileBlockRows = 2 * tileRows, tileGroupRows = 256;
  /// The first-level cache beside tile registers.
  static constexpr int64_t tileL1Bytes = int64_t(48) << 10;
  /// The most bytes of a row in a part: a group's part stays in a second-level cache of 2 MB,
  /// beside the parts of a panel and of the next one.
  static constexpr int64_t tilePartBytes = 3072;
  /// Parts of k for tile registers.
  static constexpr int64_t tileParts(int64_t rowBytes) {
    return (rowBytes + tilePartBytes - 1) / tilePartBytes;
  }

  /// The largest power of two that is at most `most`.
  static constexpr int64_t powerBelow(int64_t most) {
    int64_t power = 1;
    while (2 * power <= most)
      power *= 2;
    return power;
  }
};

} // namespace attn
