// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What code that CPUs and GPUs share asks of the unit that it runs on: vectors of a CPU, or one
// lane of a GPU's warp.
#pragma once

#include <cstdint>

namespace attn {

/// What a unit computes at a time, and what it has instructions for.
struct VectorUnit {
  int64_t lanes = 1;           ///< f32 elements of a vector
  bool avx512 = false;         ///< masked loads and stores for free, vscalefps
  bool maxima = false;         ///< the larger of two is NaN where one is, or the other, as one asks
  bool roundsToBfloat = false; ///< an instruction rounds f32 to bf16
  bool hasReciprocals = false; ///< NVVM's rcp.approx, 1 unit off at most, where a division calls
};

} // namespace attn
