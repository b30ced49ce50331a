// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What tests ask of the interpreting driver besides the driver's own functions, found by dlsym.
#pragma once

#include <cstddef>

extern "C" {

/// How often it was asked for what, since the process began, and what is there now.
struct InterpretedCounts {
  int launches;       ///< of kernels, one by one
  int earlyLaunches;  ///< of kernels that start while the one before ends, there and in graphs
  int graphLaunches;  ///< of graphs
  int instantiations; ///< of graphs
  int kernelUpdates;  ///< of nodes in an executable graph
  int copyUpdates;
  int encodings;         ///< of tensor maps
  size_t allocations;    ///< of device memory
  size_t allocatedBytes; ///< not freed
  size_t mostBytes;      ///< that were allocated at a time
  size_t bytesToDevice;  ///< that copies brought
  size_t pendingActions; ///< asked for on a stream, and not done
};
using InterpretedCountsFunction = void(InterpretedCounts *counts);

/// The kernels whose nodes were updated since the last call, each behind a space: " a b a". The
/// text is there until the next call.
using InterpretedUpdatesFunction = const char *();

/// Of the driver's function of that name `times` calls, after `skipped` others, fail with
/// CUDA_ERROR_UNKNOWN (999).
using InterpretedFailFunction = void(const char *function, int skipped, int times);
}
