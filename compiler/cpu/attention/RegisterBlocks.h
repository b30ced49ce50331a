// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How many sums an attention's tiles keep in registers.
#pragma once

#include "compiler/target/CpuTarget.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

namespace attn {

/// Sizes of register blocks. Their accumulators take three quarters of the registers.
struct RegisterBlocks {
  const CpuTarget &target;

  /// Vectors of sums that are in registers at a time.
  int64_t accumulators() const { return target.registers * 3 / 4; }
  /// Keys of a score tile of so many vectors of queries; few where more than a product is computed
  /// for each accumulator.
  int64_t keys(int64_t vectors, bool isProduct) const {
    int64_t sums = isProduct ? accumulators() : accumulators() / 4;
    return std::max<int64_t>(std::min<int64_t>(sums / vectors, target.lanes), 1);
  }
  /// Vectors of queries of a score tile, at most, and of a softmax tile: a polynomial's
  /// coefficients take most of AVX2's registers.
  static constexpr int64_t queryVectors = 3;
  /// Steps at the end of a tile's sums that are done row by row.
  static constexpr int64_t lastSteps = 4;
  int64_t softmaxVectors() const { return target.hasManyRegisters() ? 3 : 1; }
  /// Rows of a value tile; one that `selects` needs registers for masks where they are vectors.
  int64_t rows(int64_t columns, bool selects) const {
    int64_t vectors = llvm::divideCeil(columns, target.lanes);
    int64_t rows = std::min<int64_t>(accumulators() / vectors, 12);
    return selects && !target.avx512 ? std::max<int64_t>(rows - 1, 1) : rows;
  }
  /// Columns of a value tile: that of two sizes which leaves the fuller last tile.
  int64_t columns(int64_t all) const {
    int64_t vectors = llvm::divideCeil(all, target.lanes),
            large = target.hasManyRegisters() ? 4 : 3;
    auto last = [&](int64_t size) { return (vectors - 1) % size + 1; };
    int64_t size = last(large - 1) > last(large) ? large - 1 : large;
    return std::min(size * target.lanes, all);
  }
};

} // namespace attn
