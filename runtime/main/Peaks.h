// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rates that this machine reaches: multiply-adds, and reading memory.
#pragma once

#include <cstdint>

namespace attn {

/// What some threads of this machine do at most; 0 where it could not be measured.
struct Peaks {
  double flopPerSecond = 0;  ///< f32 multiply-adds on registers
  double bytesPerSecond = 0; ///< reading memory outside of the caches
};

/// Takes a few tenths of a second. Code of x86-64-v3 must be runnable.
Peaks measurePeaks(int32_t threads);

} // namespace attn
