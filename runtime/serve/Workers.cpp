// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Two lists under a mutex: requests that are to be read, and their parts that are to be computed.
#include "serve/Workers.h"

#include "base/Clock.h"
#include "serve/Http.h"
#include <cerrno>
#include <ctime>

namespace attn {

attn_status Workers::start(const ServeOptions &given, int32_t waiters, HttpServer &server,
                           Error &error) {
  http = &server;
  options = given;
  pthread_condattr_t attributes;
  pthread_condattr_init(&attributes);
  pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
  pthread_cond_init(&isThere, &attributes);
  pthread_condattr_destroy(&attributes);
  allThreads = attn_default_threads();
  int32_t wanted = options.workers ? options.workers : allThreads;
  if (allThreads > wanted * options.threads)
    allThreads = wanted * options.threads;
  mostComputing = wanted;
  mostSharing = waiters;
  count = wanted + waiters;
  for (int32_t i = 0; i < count; ++i) {
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
  if (!threads.empty())
    pthread_cond_broadcast(&isThere);
  pthread_mutex_unlock(&lock);
  for (pthread_t thread : threads)
    pthread_join(thread, nullptr);
  threads.clear();
}

bool Workers::submit(Exchange *exchange) {
  pthread_mutex_lock(&lock);
  bool hasRoom = done.queued < options.mostQueued;
  if (hasRoom) {
    exchange->next = nullptr;
    exchange->queued = secondsNow();
    exchange->ahead = done.queued;
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

/// Requests are read first, so that there are many to choose from; but not those that have come so
/// many seconds after one that has been read.
static constexpr double mostAhead = 0.1;

/// Whether two parts may be rows of one run. What runs alone is like no other: it may be wrong.
static bool areAlike(const Part &a, const Part &b) {
  return a.mostRows > 1 && b.mostRows > 1 && a.target == b.target &&
         a.exchange->kind == b.exchange->kind && a.sizeCount == b.sizeCount &&
         (a.sizeCount == 0 || memcmp(a.sizes, b.sizes, a.sizeCount * sizeof *a.sizes) == 0);
}

int64_t Workers::rowsToTake(const Part &oldest, double &until) const {
  int64_t most =
      options.mostRows && oldest.mostRows > options.mostRows ? options.mostRows : oldest.mostRows;
  if (most < 2)
    return 1;
  int64_t waiting = 0;
  for (const Part *part = firstPart; part; part = part->next)
    waiting += areAlike(oldest, *part) ? part->rows : 0;
  double end = oldest.exchange->queued + 1e-3 * options.batchWait;
  if (waiting < most && !ends && secondsNow() < end) {
    until = until == 0 || end < until ? end : until;
    return 0;
  }
  // Threads without work get their share.
  int64_t others = mostComputing - computing - 1, free = idle < others ? idle : others;
  int64_t share = (waiting + free) / (free + 1);
  return share < most ? share : most;
}

bool Workers::takeParts(Vector<Part *> &batch, double &until) {
  int64_t most = 0;
  const Part *oldest = nullptr;
  Vector<const Part *> waits; // one of each kind
  for (const Part *part = firstPart; part && most == 0; part = part->next) {
    // It waits for a turn: threads that all wait for steps would leave none for other requests.
    bool isLikeAnother = part->isShared ? sharing >= mostSharing : computing >= mostComputing;
    for (const Part *other : waits)
      isLikeAnother |= areAlike(*other, *part);
    if (isLikeAnother)
      continue;
    oldest = part;
    most = rowsToTake(*part, until);
    if (most == 0 && !waits.push(part))
      most = 1;
  }
  if (most == 0)
    return false;
  int64_t rows = 0;
  for (Part **at = &firstPart; *at && rows < most;) {
    Part *part = *at;
    // What does not fit waits for the next run.
    bool isTaken = part == oldest ||
                   (most > 1 && rows > 0 && rows + part->rows <= most && areAlike(*oldest, *part));
    if (!isTaken || !batch.push(part)) {
      at = &part->next;
      continue;
    }
    leaveQueue(*part->exchange);
    rows += part->rows;
    *at = part->next;
  }
  // The end of the list may have been taken.
  for (endPart = &firstPart; *endPart;)
    endPart = &(*endPart)->next;
  return !batch.empty();
}

bool Workers::take(WorkerTask &task) {
  task.unread = nullptr;
  task.isAlone = false;
  task.batch.clear();
  pthread_mutex_lock(&lock);
  for (;;) {
    double until = 0;
    bool isNew = first && firstPart && firstPart->exchange->queued + mostAhead < first->queued;
    if ((isNew || !first) && firstPart && takeParts(task.batch, until)) {
      bool isShared = task.batch[0]->isShared;
      ++(isShared ? sharing : computing);
      task.isAlone = !isShared && !first && !firstPart && idle + 1 == count && !isOneAlone &&
                     allThreads > options.threads;
      isOneAlone |= task.isAlone;
      break;
    }
    if (first) { // where all parts wait for a turn, what is new may not have to
      task.unread = first;
      first = first->next;
      if (!first)
        end = &first;
      break;
    }
    if (ends)
      break;
    ++idle;
    if (until > 0) {
      timespec time{time_t(until), long(1e9 * (until - double(time_t(until))))};
      pthread_cond_timedwait(&isThere, &lock, &time);
    } else {
      pthread_cond_wait(&isThere, &lock);
    }
    --idle;
  }
  pthread_mutex_unlock(&lock);
  return task.unread || !task.batch.empty();
}

void Workers::leaveQueue(Exchange &exchange) {
  if (exchange.isTaken)
    return;
  exchange.isTaken = true;
  --done.queued;
  exchange.waited = secondsNow() - exchange.queued - exchange.computed;
}

void Workers::finish(Exchange *exchange) {
  pthread_mutex_lock(&lock);
  done.queuedSeconds += exchange->waited;
  done.computedSeconds += exchange->computed;
  pthread_mutex_unlock(&lock);
  http->finish(exchange);
}

void Workers::read(Exchange *exchange) {
  double begin = secondsNow();
  exchange->kind->read(*exchange);
  exchange->computed = secondsNow() - begin;
  size_t count = exchange->status == 200 ? exchange->partCount : 0;
  pthread_mutex_lock(&lock);
  if (count == 0)
    leaveQueue(*exchange);
  for (size_t i = 0; i < count; ++i) {
    *endPart = &exchange->parts[i];
    endPart = &exchange->parts[i].next;
  }
  if (count > 1) // one of them is this thread's own
    pthread_cond_broadcast(&isThere);
  pthread_mutex_unlock(&lock);
  if (count == 0) {
    if (exchange->status == 200)
      exchange->kind->answer(*exchange);
    finish(exchange);
  }
}

void Workers::compute(attn_context *context, Vector<Part *> &batch) {
  double begin = secondsNow();
  const RequestKind &kind = *batch[0]->exchange->kind;
  size_t runs = 0;
  auto run = [&](Part **parts, size_t count) {
    char *message = nullptr;
    attn_status status = ATTN_OUT_OF_MEMORY;
    if (context)
      status = kind.compute(context, parts, count, &message);
    ++runs;
    if (count == 1) {
      parts[0]->status = status;
      parts[0]->message = message;
    } else {
      attn_message_free(message);
    }
    return status;
  };
  // What is wrong with one part is no fault of the others.
  if (batch.size() == 1 || run(batch.data(), batch.size()) != ATTN_OK)
    for (Part *&part : batch)
      run(&part, 1);
  double seconds = secondsNow() - begin;
  pthread_mutex_lock(&lock);
  done.computed += int64_t(batch.size());
  done.runs += int64_t(runs);
  for (Part *&part : batch) {
    Exchange &exchange = *part->exchange;
    exchange.computed += seconds / double(batch.size());
    if (--exchange.partsLeft != 0)
      part = nullptr; // another one is the last of its request
  }
  pthread_mutex_unlock(&lock);
  for (Part *part : batch) {
    if (!part)
      continue;
    Exchange &exchange = *part->exchange;
    const Part *failed = nullptr;
    for (size_t i = 0; i < exchange.partCount && !failed; ++i)
      if (exchange.parts[i].status)
        failed = &exchange.parts[i];
    if (failed)
      exchange.fail(failed->status, failed->message);
    else
      kind.answer(exchange);
    finish(&exchange);
  }
}

void *Workers::threadMain(void *workers) {
  static_cast<Workers *>(workers)->work();
  return nullptr;
}

Contexts::~Contexts() {
  for (Pair &pair : pairs)
    attn_context_destroy(pair.context);
}

attn_context *Contexts::of(attn_model *model, int32_t threads) {
  for (Pair &pair : pairs)
    if (pair.model == model)
      return pair.context;
  Pair made{model, nullptr};
  if (attn_context_create(model, threads, &made.context, nullptr) || !pairs.push(made))
    return attn_context_destroy(made.context), nullptr;
  return made.context;
}

void Workers::work() {
  Contexts contexts, waiting;
  WorkerTask task;
  while (take(task)) {
    if (task.unread) {
      read(task.unread);
      continue;
    }
    attn_model *model = task.batch[0]->target->model;
    bool isShared = task.batch[0]->isShared; // the request may be gone afterwards
    // Who waits for steps computes nothing.
    compute(task.isAlone
                ? contextsAlone.of(model, allThreads)
                : (isShared ? waiting : contexts).of(model, isShared ? 1 : options.threads),
            task.batch);
    pthread_mutex_lock(&lock);
    --(isShared ? sharing : computing);
    isOneAlone &= !task.isAlone;
    if (firstPart)
      pthread_cond_signal(&isThere);
    pthread_mutex_unlock(&lock);
  }
}

} // namespace attn
