// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What kernels are written for: one of a block's threads.
#pragma once

#include "compiler/target/VectorUnit.h"

namespace attn {

/// Threads of a block, where a launch says nothing else.
constexpr int64_t blockThreads = 128;

/// One lane of a warp.
inline constexpr VectorUnit gpuLane = [] {
  VectorUnit lane;
  lane.roundsToBfloat = lane.hasReciprocals = true;
  return lane;
}();

} // namespace attn
