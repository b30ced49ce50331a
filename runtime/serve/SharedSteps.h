// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What requests of one model share where it has an entry whose rows are by themselves: a scheduler,
// and the thread that runs its steps.
#pragma once

#include "attn/schedule.h"
#include "base/Error.h"
#include <pthread.h>

namespace attn {

/// Not copyable; without an entry of that kind there is no scheduler.
class SharedSteps {
public:
  SharedSteps() = default;
  SharedSteps(const SharedSteps &) = delete;
  SharedSteps &operator=(const SharedSteps &) = delete;
  ~SharedSteps();

  /// Starts the thread, which runs steps on all CPUs, or alone where a model is small.
  /// ATTN_OUT_OF_MEMORY.
  attn_status start(attn_model *model, Error &error);
  /// Null where requests take turns.
  attn_scheduler *scheduler() const { return made; }
  /// Requests that share steps at most; 0 without a scheduler.
  int64_t rows() const { return most; }

private:
  attn_context *context = nullptr;
  attn_scheduler *made = nullptr;
  int64_t most = 0;
  pthread_t thread = {};
  bool hasThread = false;
};

} // namespace attn
