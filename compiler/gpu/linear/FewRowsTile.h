// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Sizes of the kernel for linears of few rows.
#pragma once

#include "compiler/kernels/LinearShape.h"

namespace attn {

/// How a block of threads divides a linear of few rows. Panels are words of 32 bits, one column's
/// neighbours along k, [k / group][48], or [48][k / group] if they are transposed. A thread reads
/// steps of 4 words of 4 columns, 16 bytes at a time; neighbouring threads have the block's other
/// columns, the next ones the next words.
struct FewRowsTile {
  static constexpr int64_t mostRows = 8;
  static constexpr int64_t stepColumns = 4, stepWords = 4;

  int64_t rows;    ///< 1, 2, 4 or 8
  int64_t columns; ///< of a block at a time: 8 or 16
  int64_t parts;   ///< of a word, each multiplied with an element of the row in shared memory
  int64_t steps;   ///< along k
  int64_t chunk;   ///< steps whose rows are in shared memory at a time
  int64_t unroll;  ///< steps that a thread reads at a time
  int64_t batches; ///< how often it does, of a chunk

  /// Threads next to each other along columns, and along k.
  int64_t across() const { return columns / stepColumns; }
  int64_t down() const;
  int64_t chunks() const { return llvm::divideCeil(steps, chunk); }
  /// Whether a thread may be past the end of k.
  bool isGuarded() const { return steps % chunk != 0 || chunk != batches * unroll * down(); }
  /// Elements of a row in shared memory, of four bytes: f32, or words of four bytes.
  int64_t width() const { return chunk * stepWords * parts; }
  int64_t rowBytes() const { return 4 * rows * width(); }
  /// Bytes of shared memory: the rows of a chunk, then a sum of each warp, row and column.
  int64_t sharedBytes() const;

  /// For up to `rows` rows; blocks of 8 columns where those of 16 would leave multiprocessors idle.
  static FewRowsTile of(const LinearShape &shape, int64_t rows, int64_t multiprocessors);
};

} // namespace attn
