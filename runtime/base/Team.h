// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A persistent team of threads with a barrier. The caller of `run` is thread 0, the others sleep
// between runs. Whoever waits first spins for a bounded time (a barrier of running threads takes
// well below a microsecond), then sleeps in the kernel, so a team larger than the machine, or a
// busy machine, costs no whole time slices. Threads that sleep wake up apart: two of a team on one
// CPU would wait for one another at each barrier, and nothing moves them while they sleep in turns.
#pragma once

#include "base/CpuMask.h"
#include "base/StealableRanges.h"
#include "base/Vector.h"
#include "base/WaitWord.h"
#include <atomic>
#include <pthread.h>
#include <sys/types.h>

namespace attn {

/// Not copyable; used by one caller at a time.
class Team {
public:
  /// What each thread calls: `argument` is that of `run`, `thread` from 0 to size() - 1.
  using Function = void (*)(void *argument, int64_t thread);

  Team() = default;
  Team(const Team &) = delete;
  Team &operator=(const Team &) = delete;
  ~Team();

  /// Starts `threads` - 1 workers; false where the system gives no more threads or memory. `pins`:
  /// each thread runs on a CPU of its own of those that the caller may use, the caller itself for
  /// as long as `run` takes; not where there are fewer CPUs than threads.
  bool start(int32_t threads, bool pins = false);
  int32_t size() const { return count; }
  /// To be called before `run` where a fork may lie between: the workers of a forked process are
  /// made anew. False where the system gives no more threads; then a later call tries again.
  bool prepare();
  /// Calls function(argument, thread) on every thread and returns when all calls have returned.
  void run(Function function, void *argument);
  /// Called by all threads inside `run`: returns when all of them have called it.
  void barrier(int64_t thread);
  /// The pieces of a kernel that `thread` is to compute next (attn_abi_call.claim).
  int64_t claim(int64_t thread, int64_t least) { return pieces.claim(thread, least); }

private:
  /// Starts the workers that are missing.
  bool startWorkers();
  /// A thread of the team besides the caller.
  struct Worker {
    pthread_t handle;
    Team *team;
    int64_t index;
  };
  /// The life of a worker: sleeps, runs what there is to run, until the team stops.
  static void *workerMain(void *worker);
  /// Has all threads call `function`, the caller among them, and waits for their ends.
  void runOnAll(Function function, void *argument);
  /// Waits until `word` is no longer `old`: spins first, then sleeps.
  void wait(WaitWord &word, uint32_t old, int64_t thread);
  /// Writes down where a thread runs, the calling one.
  void notePlace(int64_t thread);
  void leaveSharedCpu();
  /// The CPUs where the others of the team were last.
  CpuMask placesOfOthers(int64_t thread) const;

  WaitWord epoch;   // advanced for each run
  WaitWord release; // advanced when the last thread arrives at the barrier
  alignas(128) std::atomic<int32_t> arrived{0};
  Function function = nullptr;
  void *argument = nullptr;
  bool isStopping = false, isPinned = false, staysApart = false;
  int32_t count = 1;
  pid_t process = 0; // whose threads the workers are
  uint64_t spinTicks = 0;
  StealableRanges pieces;
  Vector<int32_t> cpus; // where pinned threads run, each on its own
  Vector<Worker> workers;
  Vector<int32_t> places; // where each thread was last, atomic; below 0 where that is not known
};

} // namespace attn
