// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A persistent team of threads with a barrier. The caller of `run` is thread 0, the others sleep
// between runs. Whoever waits first spins for a bounded time (a barrier of running threads takes
// well below a microsecond), then sleeps in the kernel, so a team larger than the machine, or a
// busy machine, costs no whole time slices.
#ifndef ATTN_CORE_TEAM_H
#define ATTN_CORE_TEAM_H
#include "core/Vector.h"
#include <atomic>
#include <pthread.h>

namespace attn {

/// A counter that threads wait on until it changes.
class alignas(128) WaitWord {
public:
  uint32_t load() const { return value.load(std::memory_order_acquire); }
  /// Returns when the counter is no longer `old`.
  void waitWhile(uint32_t old, uint64_t spinTicks);
  /// Adds one and wakes those that sleep.
  void advance();

private:
  std::atomic<uint32_t> value{0};
  std::atomic<uint32_t> sleepers{0};
};

/// Not copyable; used by one caller at a time.
class Team {
public:
  using Function = void (*)(void *argument, int64_t thread);

  Team() = default;
  Team(const Team &) = delete;
  Team &operator=(const Team &) = delete;
  ~Team();

  /// Starts `threads` - 1 workers; false where the system gives no more threads or memory.
  bool start(int32_t threads);
  int32_t size() const { return count; }
  /// Calls function(argument, thread) on every thread and returns when all calls have returned.
  void run(Function function, void *argument);
  /// Called by all threads inside `run`: returns when all of them have called it.
  void barrier();

private:
  struct Worker {
    pthread_t handle;
    Team *team;
    int64_t index;
  };
  static void *workerMain(void *worker);

  WaitWord epoch;   // advanced for each run
  WaitWord release; // advanced when the last thread arrives at the barrier
  alignas(128) std::atomic<int32_t> arrived{0};
  Function function = nullptr;
  void *argument = nullptr;
  bool isStopping = false;
  int32_t count = 1;
  uint64_t spinTicks = 0;
  Vector<Worker> workers;
};

/// CPUs in this thread's affinity mask, at least 1.
int32_t affinityCpuCount();

} // namespace attn
#endif
