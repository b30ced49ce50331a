// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Starting, waking and joining the workers of a team, its barrier, and where its threads run.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include "base/Team.h"
#include "attn/attn.h"
#include "base/CpuSystem.h"
#include <cerrno>
#include <cstring>
#include <sched.h>
#include <unistd.h>

using namespace attn;

/// About 40 us on the machines of today, whose counters tick at 2 to 4 GHz.
static constexpr uint64_t usualSpinTicks = 100000;
/// Where threads outnumber CPUs the one waited for often cannot run until we sleep.
static constexpr uint64_t crowdedSpinTicks = 2000;

bool Team::start(int32_t threads, bool pins) {
  CpuMask own = CpuMask::ofCaller();
  int32_t cpuCount = own.count();
  isPinned = pins && threads <= cpuCount;
  if ((isPinned && !fastestFirst(own, cpus)) || !pieces.resize(threads < 1 ? 1 : threads))
    return false;
  if (threads <= 1)
    return true;
  staysApart = !isPinned && threads <= cpuCount;
  if (!workers.reserve(size_t(threads) - 1) || // workers keep pointers into it: it must not move
      !places.resize(size_t(threads)))
    return false;
  for (int32_t &place : places)
    place = -1;
  notePlace(0);
  spinTicks = threads <= cpuCount ? usualSpinTicks : crowdedSpinTicks;
  count = threads;
  process = getpid();
  return startWorkers();
}

bool Team::startWorkers() {
  while (int32_t(workers.size()) + 1 < count) {
    workers.push({pthread_t(), this, int64_t(workers.size()) + 1});
    if (pthread_create(&workers.back().handle, nullptr, workerMain, &workers.back()) != 0) {
      // The workers that did start wait for a run; the destructor stops them.
      workers.pop();
      return false;
    }
  }
  return true;
}

bool Team::prepare() {
  if (count == 1)
    return true;
  if (process != getpid()) {
    process = getpid();
    // A fork copies the memory, but none of the threads that slept on these words.
    workers.clear();
    new (&epoch) WaitWord;
    new (&release) WaitWord;
    arrived.store(0, std::memory_order_relaxed);
  }
  return startWorkers();
}

Team::~Team() {
  if (workers.empty() || process != getpid())
    return;
  isStopping = true;
  epoch.advance();
  for (Worker &worker : workers)
    pthread_join(worker.handle, nullptr);
}

void *Team::workerMain(void *argument) {
  Worker &worker = *static_cast<Worker *>(argument);
  Team &team = *worker.team;
  if (team.isPinned)
    CpuMask::of(team.cpus[size_t(worker.index)]).bindCaller();
  for (uint32_t seen = 0;;) {
    team.wait(team.epoch, seen, worker.index);
    ++seen;
    if (team.isStopping)
      return nullptr;
    team.function(team.argument, worker.index);
    team.barrier(worker.index);
  }
}

void Team::notePlace(int64_t thread) {
  int32_t cpu = sched_getcpu();
  if (cpu < CpuMask::most && __atomic_load_n(&places[size_t(thread)], __ATOMIC_RELAXED) != cpu)
    __atomic_store_n(&places[size_t(thread)], cpu, __ATOMIC_RELAXED);
}

CpuMask Team::placesOfOthers(int64_t thread) const {
  CpuMask result;
  for (size_t i = 0; i < places.size(); ++i) {
    int32_t cpu = __atomic_load_n(&places[i], __ATOMIC_RELAXED);
    if (int64_t(i) != thread && cpu >= 0)
      result.add(cpu);
  }
  return result;
}

/// A thread that goes to sleep leaves the CPUs of the others to them until it is awake: kernels
/// wake a thread where its waker runs, some pack those that sleep often onto few CPUs.
void Team::wait(WaitWord &word, uint32_t old, int64_t thread) {
  if (word.spinWhile(old, spinTicks))
    return;
  if (!staysApart)
    return word.sleepWhile(old);
  CpuMask before = CpuMask::ofCaller(), apart = before.without(placesOfOthers(thread));
  apart.bindCaller();
  word.sleepWhile(old);
  if (CpuMask::ofCaller() == apart) // nobody else bound the thread meanwhile
    before.bindCaller();
  notePlace(thread);
}

/// Moves the caller, who may have slept elsewhere and woken up where a worker is going to run.
void Team::leaveSharedCpu() {
  notePlace(0);
  CpuMask others = placesOfOthers(0);
  if (places[0] < 0 || !others.holds(places[0]))
    return;
  CpuMask before = CpuMask::ofCaller();
  before.without(others).bindCaller();
  before.bindCaller();
  notePlace(0);
}

void Team::run(Function newFunction, void *newArgument) {
  if (!isPinned) {
    if (staysApart)
      leaveSharedCpu();
    return runOnAll(newFunction, newArgument);
  }
  CpuMask before = CpuMask::ofCaller();
  CpuMask::of(cpus[0]).bindCaller();
  runOnAll(newFunction, newArgument);
  before.bindCaller();
}

void Team::runOnAll(Function newFunction, void *newArgument) {
  if (count == 1) {
    newFunction(newArgument, 0);
    return;
  }
  function = newFunction;
  argument = newArgument;
  epoch.advance();
  newFunction(newArgument, 0);
  barrier(0); // nobody is left in the function, so it and its argument may change
}

void Team::barrier(int64_t thread) {
  if (count == 1)
    return;
  notePlace(thread);
  // Nobody can arrive for the next barrier before `release` has advanced, so resetting is safe.
  uint32_t round = release.load();
  if (arrived.fetch_add(1, std::memory_order_acq_rel) + 1 == count) {
    arrived.store(0, std::memory_order_relaxed);
    release.advance();
    return;
  }
  wait(release, round, thread);
}

extern "C" int32_t attn_default_threads(void) {
  const char *text = getenv("ATTN_NUM_THREADS");
  if (text && *text) {
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (errno == 0 && *end == 0 && value >= 1)
      return value < 1024 ? int32_t(value) : 1024;
  }
  int32_t cpus = CpuMask::ofCaller().count(), quota = cpusOfQuota();
  cpus = cpus < quota ? cpus : quota;
  return cpus < 1 ? 1 : cpus < 1024 ? cpus : 1024;
}
