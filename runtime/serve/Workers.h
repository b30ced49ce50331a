// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Threads that compute requests, each with a context of its own for every model. Parts of requests
// that are alike, and wait at the same time, are computed in one run.
#pragma once

#include "serve/Exchange.h"
#include "serve/Serve.h"
#include <pthread.h>

namespace attn {

class HttpServer;

/// What workers have done.
struct WorkerCounts {
  int64_t queued;         ///< requests that wait
  int64_t computed, runs; ///< parts of requests, and runs that computed them
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
  /// Reads and computes requests until the queue is empty and `stop` is called.
  void work();
  /// Takes what is to be done next: a request to be read, or else the part that has waited longest,
  /// with others that are alike. False at the end.
  bool take(Exchange *&unread, Vector<Part *> &batch);
  /// Takes the first of the parts that wait, and those alike, to `batch`; false where it may wait
  /// for more until second `until`.
  bool takeParts(Vector<Part *> &batch, double &until);
  /// Notes that a request waits no more; under the lock.
  void leaveQueue(Exchange &exchange);
  void read(Exchange *exchange);
  void compute(attn_context *context, Vector<Part *> &batch);
  /// Hands a request over to `http`.
  void finish(Exchange *exchange);

  HttpServer *http = nullptr;
  ServeOptions options;
  Vector<pthread_t> threads;
  mutable pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t isThere; ///< its clock is that of secondsNow()
  Exchange *first = nullptr, **end = &first;
  Part *firstPart = nullptr, **endPart = &firstPart;
  WorkerCounts done = {};
  int32_t idle = 0; ///< threads that wait
  bool ends = false;
};

} // namespace attn
