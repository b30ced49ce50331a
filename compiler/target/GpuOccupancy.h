// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How many blocks of a kernel a multiprocessor holds at a time, and what there is no more of then.
#pragma once

#include "compiler/target/GpuTarget.h"
#include <optional>

namespace attn {

/// What a block of a kernel takes of a multiprocessor.
struct BlockNeeds {
  int64_t threads;
  std::optional<int64_t> registers; ///< of a thread; unknown before the assembler has run
  int64_t sharedBytes;              ///< static and dynamic
  int64_t launched;                 ///< blocks that a launch gives each multiprocessor at most
};

/// Blocks of one kernel on a multiprocessor.
struct Occupancy {
  int64_t blocks;
  llvm::StringRef limit; ///< "registers", "shared memory", "threads", "blocks" or "as launched"

  /// By the table of compute capabilities in NVIDIA's CUDA C++ Programming Guide, with the
  /// granularities of its occupancy calculator.
  static Occupancy of(const GpuTarget &target, const BlockNeeds &needs);
};

} // namespace attn
