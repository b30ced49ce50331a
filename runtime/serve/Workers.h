// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads that compute requests, each with a context of its own for every model.
#pragma once

#include "serve/Exchange.h"
#include "serve/Serve.h"
#include <pthread.h>

namespace attn {

class HttpServer;

/// What workers have done.
struct WorkerCounts {
  int64_t queued, computed;
  double queuedSeconds, computedSeconds;
};

/// A queue with an end, and who takes from it.
class Workers {
public:
  Workers() = default;
  Workers(const Workers &) = delete;
  Workers &operator=(const Workers &) = delete;
  ~Workers() { stop(); }

  /// Starts the threads. ATTN_OUT_OF_MEMORY.
  attn_status start(const ServeOptions &options, HttpServer &http, Error &error);
  /// Ends the threads when the queue is empty.
  void stop();
  int32_t size() const { return int32_t(threads.size()); }
  /// Queues a request, which goes to `http` when it is done; false where too many wait.
  bool submit(Exchange *exchange);
  WorkerCounts counts() const;

private:
  /// A thread: `work` of the workers.
  static void *threadMain(void *workers);
  /// Computes requests until the queue is empty and `stop` is called.
  void work();
  /// The next request; null at the end.
  Exchange *take();

  HttpServer *http = nullptr;
  Vector<pthread_t> threads;
  mutable pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t isThere = PTHREAD_COND_INITIALIZER;
  Exchange *first = nullptr, **end = &first;
  WorkerCounts done = {};
  int32_t mostQueued = 0, threadsEach = 1;
  bool ends = false;
};

} // namespace attn
