// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Variants of one model, compiled with other tiles, that run in turns on the same random weights
// and inputs and are timed kernel by kernel. Apart from MLIR's headers, as Runner.h.
#pragma once

#include "attn/abi.h"
#include "attn/attn.h"
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace attn::tool {

/// Times the kernels of several variants of a model. Used by one thread.
class KernelTimer {
public:
  /// `sizes` of dynamic dims, which are 1 otherwise; 0 threads: as many as a context has by
  /// default.
  KernelTimer(int32_t threads, std::vector<std::pair<std::string, int64_t>> sizes);
  ~KernelTimer();

  /// Adds a variant, whose tables must live as long as it. The first one's weights serve all. 0, or
  /// an exit code after an error.
  int add(const attn_abi_model *tables);
  /// Drops all but the first `count` variants.
  void keep(size_t count);

  /// Runs all entries of a variant. `times[kernel]` becomes the least of itself and the nanoseconds
  /// that all calls of a kernel took together; kernels are numbered as in attn_kernel_event.
  int run(size_t variant, std::vector<double> &times);

  /// The threads that variants run on; there is a variant.
  int32_t threads() const;

private:
  struct State;
  std::unique_ptr<State> state;
};

} // namespace attn::tool
