// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The first entry of a model that a scheduler can run, and its thread.
#include "serve/SharedSteps.h"

namespace attn {

void SharedSteps::stop() {
  if (hasThread) {
    attn_scheduler_stop(made);
    pthread_join(thread, nullptr);
  }
  hasThread = false;
  attn_scheduler_destroy(made);
  attn_context_destroy(context);
  made = nullptr, context = nullptr;
}

attn_status SharedSteps::start(attn_model *of, Error &error) {
  attn_schedule_options options;
  model = of;
  for (int32_t entry = 0; shared < 0 && entry < attn_model_entry_count(model); ++entry)
    shared = attn_model_shared_entry(model, entry);
  if (shared < 0 || attn_schedule_options_default(model, shared, &options, nullptr))
    return ATTN_OK;
  auto run = [](void *scheduler) -> void * {
    attn_scheduler_run(static_cast<attn_scheduler *>(scheduler));
    return nullptr;
  };
  // A step of a small model is done before several threads have met at all of its barriers.
  constexpr int64_t smallBytes = 8 << 20;
  int32_t threads = attn_model_packed_bytes(model) < smallBytes ? 1 : 0;
  char *message = nullptr;
  attn_status status = attn_context_create(model, threads, &context, &message);
  if (!status)
    status = attn_scheduler_create(context, shared, &options, &made, &message);
  if (status)
    error.take(status, message);
  attn_message_free(message);
  if (status)
    return status;
  hasThread = pthread_create(&thread, nullptr, run, made) == 0;
  if (!hasThread)
    return error.outOfMemory("a scheduler");
  most = options.mostRows;
  return ATTN_OK;
}

} // namespace attn
