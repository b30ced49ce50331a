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

/// Contexts of models, made when they are first needed.
class Contexts {
public:
  Contexts() = default;
  Contexts(const Contexts &) = delete;
  Contexts &operator=(const Contexts &) = delete;
  ~Contexts();
  /// That of a model, on so many threads; null without memory.
  attn_context *of(attn_model *model, int32_t threads);

private:
  /// A model, and its context.
  struct Pair {
    attn_model *model;
    attn_context *context;
  };
  Vector<Pair> pairs;
};

/// What a worker does next: reads a request, or computes parts that are alike.
struct WorkerTask {
  Exchange *unread = nullptr;
  Vector<Part *> batch;
  bool isAlone = false; ///< whether all threads are free for it
};

/// A queue with an end, and who takes from it.
class Workers {
public:
  Workers() = default;
  Workers(const Workers &) = delete;
  Workers &operator=(const Workers &) = delete;
  ~Workers() { stop(); }

  /// Starts the threads, and so many more as may wait for steps that they share.
  /// ATTN_OUT_OF_MEMORY.
  attn_status start(const ServeOptions &options, int32_t waiters, HttpServer &http, Error &error);
  /// Ends the threads when the queue is empty.
  void stop();
  /// How many compute at a time.
  int32_t size() const { return mostComputing; }
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
  bool take(WorkerTask &task);
  /// Takes the part that has waited longest, and those alike, to `batch`; of those that may wait
  /// for more there is second `until` instead. False where all may.
  bool takeParts(Vector<Part *> &batch, double &until);
  /// How many rows that are alike a run of `oldest` should have now; 0: they may wait until
  /// `until`.
  int64_t rowsToTake(const Part &oldest, double &until) const;
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
  int32_t idle = 0;                         ///< threads without work
  int32_t computing = 0, mostComputing = 1; ///< those that compute themselves
  int32_t sharing = 0, mostSharing = 0;     ///< those that wait for steps that they share
  int32_t count = 0;                        ///< of all threads
  Contexts contextsAlone; ///< on all threads, for a request that is alone; one uses them at a time
  bool isOneAlone = false;
  int32_t allThreads = 1; ///< of one that is alone
  bool ends = false;
};

} // namespace attn
