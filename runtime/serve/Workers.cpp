// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A list under a mutex.
#include "serve/Workers.h"

#include "main/ProgressLine.h"
#include "serve/Http.h"
#include "serve/Kserve.h"

namespace attn {

attn_status Workers::start(const ServeOptions &options, HttpServer &given, Error &error) {
  http = &given;
  mostQueued = options.mostQueued;
  threadsEach = options.threads;
  int32_t wanted = options.workers ? options.workers : attn_default_threads();
  for (int32_t i = 0; i < wanted; ++i) {
    pthread_t thread;
    if (pthread_create(&thread, nullptr, threadMain, this) != 0)
      return error.outOfMemory("the workers");
    threads.push(thread);
  }
  return ATTN_OK;
}

void Workers::stop() {
  pthread_mutex_lock(&lock);
  ends = true;
  pthread_cond_broadcast(&isThere);
  pthread_mutex_unlock(&lock);
  for (pthread_t thread : threads)
    pthread_join(thread, nullptr);
  threads.clear();
}

bool Workers::submit(Exchange *exchange) {
  pthread_mutex_lock(&lock);
  bool hasRoom = done.queued < mostQueued;
  if (hasRoom) {
    exchange->next = nullptr;
    exchange->queued = secondsNow();
    *end = exchange;
    end = &exchange->next;
    ++done.queued;
    pthread_cond_signal(&isThere);
  }
  pthread_mutex_unlock(&lock);
  return hasRoom;
}

WorkerCounts Workers::counts() const {
  pthread_mutex_lock(&lock);
  WorkerCounts counts = done;
  pthread_mutex_unlock(&lock);
  return counts;
}

Exchange *Workers::take() {
  pthread_mutex_lock(&lock);
  while (!first && !ends)
    pthread_cond_wait(&isThere, &lock);
  Exchange *exchange = first;
  if (exchange) {
    first = exchange->next;
    if (!first)
      end = &first;
    --done.queued;
  }
  pthread_mutex_unlock(&lock);
  return exchange;
}

void *Workers::threadMain(void *workers) {
  static_cast<Workers *>(workers)->work();
  return nullptr;
}

namespace {
/// The contexts of one worker, made when they are first needed.
struct Contexts {
  struct Pair {
    attn_model *model;
    attn_context *context;
  };
  Vector<Pair> pairs;
  ~Contexts() {
    for (Pair &pair : pairs)
      attn_context_destroy(pair.context);
  }
  attn_context *of(attn_model *model, int32_t threads) {
    for (Pair &pair : pairs)
      if (pair.model == model)
        return pair.context;
    Pair made{model, nullptr};
    if (attn_context_create(model, threads, &made.context, nullptr) || !pairs.push(made))
      return attn_context_destroy(made.context), nullptr;
    return made.context;
  }
};
} // namespace

void Workers::work() {
  Contexts contexts;
  while (Exchange *exchange = take()) {
    double begin = secondsNow();
    exchange->queued = begin - exchange->queued;
    attn_context *context = contexts.of(exchange->target->model, threadsEach);
    if (context)
      infer(*exchange, context);
    else
      exchange->fail(503, "no memory for a context; try again later");
    exchange->computed = secondsNow() - begin;
    pthread_mutex_lock(&lock);
    ++done.computed;
    done.queuedSeconds += exchange->queued;
    done.computedSeconds += exchange->computed;
    pthread_mutex_unlock(&lock);
    http->finish(exchange);
  }
}

} // namespace attn
