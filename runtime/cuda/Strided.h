// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Copies on the GPU between strided tensors and dense ones, by a kernel of the runtime's own: one
// launch for any strides, which a CUDA graph can update (copies of rows can not be). A thread
// copies words of up to 16 bytes, neighbours along the dense tensor's last axis.
#pragma once

#include "attn/attn.h"
#include "cuda/Driver.h"

namespace attn {

/// A copy between two tensors of the same shape, of which one may be strided.
struct StridedCopy {
  /// Strides in bytes.
  struct Axis {
    int64_t size, fromStride, toStride;
  };
  CuPointer from = 0, to = 0;
  int64_t width = 1; ///< Bytes of an element: 1, 2, 4, 8 or 16.
  int32_t rank = 0;
  Axis axes[ATTN_MAX_RANK]; ///< Innermost first, at least one.

  /// What the kernel counts to.
  static constexpr int64_t mostElements = int64_t(1) << 31;
  static constexpr int widthCount = 5, threads = 256;
  /// Words of the kernel: from, to, elements, rank, axes.
  static constexpr int wordCount = 4 + 3 * ATTN_MAX_RANK, argumentCount = 5;

  /// From a strided tensor on the GPU to a dense one. Axes that follow each other in both become
  /// one, elements as wide as addresses and strides allow.
  static StridedCopy gather(const attn_tensor &tensor, CuPointer dense);
  /// The other way round.
  static StridedCopy scatter(CuPointer dense, const attn_tensor &tensor);

  /// The number of elements that are copied.
  int64_t elements() const;
  /// The first half, along the outermost axis; this becomes the second.
  StridedCopy takeHalf();
  void toWords(int64_t (&words)[wordCount]) const;
  /// The number of its kernel among stridedKernels.
  int32_t kernel() const;
};

/// A kernel for each width, and their PTX, for sm_80 and above.
extern const char stridedKernels[StridedCopy::widthCount][12];
extern const char stridedPtx[];

} // namespace attn
