// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What requests of one model share where an entry that generates has one whose rows are by
// themselves (attn_model_shared_entry): a scheduler, and the thread that runs its steps.
#pragma once

#include "attn/schedule.h"
#include "base/Error.h"
#include <pthread.h>

namespace attn {

/// Not copyable. Of several entries of that kind the first one counts.
class SharedSteps {
public:
  SharedSteps() = default;
  SharedSteps(const SharedSteps &) = delete;
  SharedSteps &operator=(const SharedSteps &) = delete;
  ~SharedSteps() { stop(); }

  /// Starts the thread, which runs steps on all CPUs, or alone where a model is small.
  /// ATTN_OUT_OF_MEMORY.
  attn_status start(attn_model *of, Error &error);
  /// Ends the thread and the scheduler.
  void stop();
  /// That of an entry; null where its requests take turns.
  attn_scheduler *of(int32_t entry) const {
    return made && attn_model_shared_entry(model, entry) == shared ? made : nullptr;
  }
  /// Requests that share steps at most; 0 without a scheduler.
  int64_t rows() const { return most; }

private:
  attn_model *model = nullptr;
  int32_t shared = -1; ///< the entry of the steps
  attn_context *context = nullptr;
  attn_scheduler *made = nullptr;
  int64_t most = 0;
  pthread_t thread = {};
  bool hasThread = false;
};

} // namespace attn
