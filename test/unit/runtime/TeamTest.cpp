// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "base/Team.h"
#include "attn/abi.h"
#include <algorithm>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>
#include <vector>

using namespace attn;

namespace {
/// Each round every thread adds to its own cell and checks, after the barrier, all others.
struct Rounds {
  Team &team;
  int rounds;
  std::vector<long> cells; // one cache line apart
  std::atomic<long> wrong{0};
};
} // namespace

static void playRounds(void *argument, int64_t thread) {
  Rounds &game = *static_cast<Rounds *>(argument);
  for (int round = 1; round <= game.rounds; ++round) {
    game.cells[size_t(thread) * 16] += thread + 1;
    game.team.barrier(thread);
    for (int64_t other = 0; other < game.team.size(); ++other)
      if (game.cells[size_t(other) * 16] != round * (other + 1))
        game.wrong.fetch_add(1);
    game.team.barrier(thread);
  }
}

TEST(TeamTest, BarrierHoldsForAnyNumberOfThreads) {
  for (int threads = 1; threads <= 8; ++threads) {
    Team team;
    ASSERT_TRUE(team.start(threads));
    Rounds game{team, 300, std::vector<long>(size_t(threads) * 16)};
    team.run(playRounds, &game);
    EXPECT_EQ(0, game.wrong.load()) << threads << " threads";
  }
}

TEST(TeamTest, PinnedThreadsHaveCpusOfTheirOwn) {
  CpuMask before = CpuMask::ofCaller();
  int32_t threads = before.count();
  Team team, larger;
  ASSERT_TRUE(team.start(threads, true));
  std::vector<CpuMask> masks(static_cast<size_t>(threads));
  auto note = [](void *masks, int64_t thread) {
    (*static_cast<std::vector<CpuMask> *>(masks))[size_t(thread)] = CpuMask::ofCaller();
  };
  team.run(note, &masks);
  CpuMask all;
  for (const CpuMask &mask : masks) {
    EXPECT_EQ(1, mask.count());
    for (size_t i = 0; i < std::size(all.words); ++i)
      all.words[i] |= mask.words[i];
  }
  EXPECT_EQ(threads, all.count());
  EXPECT_TRUE(
      std::equal(std::begin(before.words), std::end(before.words), CpuMask::ofCaller().words));

  ASSERT_TRUE(larger.start(threads + 1, true)); // fewer CPUs than threads: nobody is bound
  masks.resize(size_t(threads) + 1);
  larger.run(note, &masks);
  for (const CpuMask &mask : masks)
    EXPECT_EQ(threads, mask.count());
}

/// The CPUs that a thread may run on once it no longer may on all of them; after a while in any
/// case.
static CpuMask maskOnceNarrow(pthread_t thread, const CpuMask &all) {
  CpuMask mask;
  timespec begin, now;
  clock_gettime(CLOCK_MONOTONIC, &begin);
  do {
    pthread_getaffinity_np(thread, sizeof mask.words, reinterpret_cast<cpu_set_t *>(mask.words));
    clock_gettime(CLOCK_MONOTONIC, &now);
  } while (mask == all &&
           (now.tv_sec - begin.tv_sec) * 1000 + (now.tv_nsec - begin.tv_nsec) / 1000000 < 300);
  return mask;
}

TEST(TeamTest, SleepingThreadsLeaveTheCpusOfOthers) {
  CpuMask all = CpuMask::ofCaller();
  if (all.count() < 2)
    GTEST_SKIP() << "needs 2 CPUs";
  struct Round {
    Team team;
    CpuMask all;
    pthread_t threads[2];
    int32_t cpus[2];
    CpuMask masks[2], ofWaitingCaller;
  } round;
  round.all = all;
  ASSERT_TRUE(round.team.start(2));
  // The kernel may move threads at any time, and does where the machine is busy: some rounds count,
  // and there are as many as it takes.
  int wanted = 10, callersMoved = 0, callersApart = 0, workersApart = 0;
  for (int i = 0; i < 20 * wanted && std::min({callersMoved, callersApart, workersApart}) < wanted;
       ++i) {
    if (i > 0) { // the caller wakes up where the worker was
      CpuMask ofWorker;
      ofWorker.add(round.cpus[1]);
      ofWorker.bindCaller();
      all.bindCaller();
    }
    round.team.run(
        [](void *argument, int64_t thread) {
          Round &round = *static_cast<Round *>(argument);
          round.threads[thread] = pthread_self();
          round.cpus[thread] = sched_getcpu();
          round.masks[thread] = CpuMask::ofCaller();
          round.team.barrier(thread);
          if (thread == 1) // the caller waits at the barrier
            round.ofWaitingCaller = maskOnceNarrow(round.threads[0], round.all);
        },
        &round);
    EXPECT_EQ(all, round.masks[0]);
    EXPECT_EQ(all, round.masks[1]);
    EXPECT_EQ(all, CpuMask::ofCaller());
    callersMoved += round.cpus[0] != round.cpus[1];
    callersApart += !round.ofWaitingCaller.holds(round.cpus[1]);
    int32_t callers = sched_getcpu();
    CpuMask ofSleepingWorker = maskOnceNarrow(round.threads[1], all);
    workersApart += !ofSleepingWorker.holds(callers);
    EXPECT_LT(0, round.ofWaitingCaller.count());
    EXPECT_LT(0, ofSleepingWorker.count());
  }
  EXPECT_LE(wanted, callersMoved);
  EXPECT_LE(wanted, callersApart);
  EXPECT_LE(wanted, workersApart);
}

TEST(TeamTest, EachPieceIsClaimedOnce) {
  for (int threads : {1, 2, 3, 5, 8}) {
    Team team;
    ASSERT_TRUE(team.start(threads));
    struct Kernels {
      Team &team;
      std::vector<std::vector<std::atomic<int>>> claimed; // kernel by kernel, piece by piece
      std::vector<int> lengths;                           // of what thread 0 gets, of one kernel
      explicit Kernels(Team &team) : team(team) {
        for (int i = 0; i < 200; ++i)
          claimed.emplace_back(size_t(team.size()) * ATTN_PIECES);
      }
    } kernels(team);
    team.run(
        [](void *argument, int64_t thread) {
          Kernels &kernels = *static_cast<Kernels *>(argument);
          for (size_t i = 0; i < kernels.claimed.size(); ++i) {
            if (i % 16 == 3 && thread == 1)
              usleep(100); // the others do its pieces meanwhile
            while (int64_t word = kernels.team.claim(thread, int64_t(i % 3))) {
              int64_t from = word >> 32, to = word & 0xffffffff;
              if (i == 0 && thread == 0)
                kernels.lengths.push_back(int(to - from));
              for (int64_t piece = from; piece < to; ++piece)
                kernels.claimed[i][size_t(piece)].fetch_add(1);
            }
            kernels.team.barrier(thread);
          }
        },
        &kernels);
    int64_t wrong = 0;
    for (auto &pieces : kernels.claimed)
      wrong += std::count_if(pieces.begin(), pieces.end(), [](auto &count) { return count != 1; });
    EXPECT_EQ(0, wrong) << threads << " threads";
    if (threads == 1) {
      EXPECT_EQ(kernels.lengths, std::vector<int>{ATTN_PIECES});
    }
  }
}

TEST(TeamTest, ThreadThatComesLateFindsItsPiecesDone) {
  Team team;
  ASSERT_TRUE(team.start(2));
  struct Late {
    Team &team;
    std::atomic<bool> isDone{false};
    int64_t ofFirst = 0, ofLate = 0;
  } late{team};
  team.run(
      [](void *argument, int64_t thread) {
        Late &late = *static_cast<Late *>(argument);
        while (thread == 1 && !late.isDone.load())
          usleep(100);
        int64_t &own = thread == 0 ? late.ofFirst : late.ofLate;
        while (int64_t word = late.team.claim(thread, 1))
          own += (word & 0xffffffff) - (word >> 32);
        late.isDone.store(true);
        late.team.barrier(thread);
      },
      &late);
  EXPECT_EQ(2 * ATTN_PIECES, late.ofFirst);
  EXPECT_EQ(0, late.ofLate);
}

TEST(TeamTest, ManyShortRuns) {
  Team team;
  ASSERT_TRUE(team.start(4));
  std::atomic<int> calls{0};
  for (int i = 0; i < 5000; ++i)
    team.run([](void *count, int64_t) { static_cast<std::atomic<int> *>(count)->fetch_add(1); },
             &calls);
  EXPECT_EQ(20000, calls.load());
}

TEST(TeamTest, WakesAfterSleeping) {
  Team team;
  ASSERT_TRUE(team.start(3));
  std::atomic<int> calls{0};
  for (int i = 0; i < 5; ++i) {
    usleep(2000); // far beyond the spin: workers sleep in the kernel
    team.run([](void *count, int64_t) { static_cast<std::atomic<int> *>(count)->fetch_add(1); },
             &calls);
  }
  EXPECT_EQ(15, calls.load());
}

TEST(TeamTest, SlowThreadIsWaitedFor) {
  Team team;
  ASSERT_TRUE(team.start(4));
  struct Late {
    Team &team;
    std::atomic<int> arrived{0};
    std::atomic<int> early{0};
  } late{team};
  team.run(
      [](void *argument, int64_t thread) {
        Late &late = *static_cast<Late *>(argument);
        if (thread == 2)
          usleep(5000);
        late.arrived.fetch_add(1);
        late.team.barrier(thread);
        if (late.arrived.load() != 4)
          late.early.fetch_add(1);
      },
      &late);
  EXPECT_EQ(0, late.early.load());
}

TEST(TeamTest, IdleTeamUsesNoProcessorTime) {
  Team team;
  ASSERT_TRUE(team.start(4));
  team.run([](void *, int64_t) {}, nullptr);
  usleep(10000);
  clock_t begin = clock();
  usleep(200000);
  EXPECT_LT(double(clock() - begin) / CLOCKS_PER_SEC, 0.02);
}

TEST(TeamTest, DestroyedWithoutRunning) {
  for (int i = 0; i < 20; ++i) {
    Team team;
    ASSERT_TRUE(team.start(5));
  }
}

/// Ends as a child of fork: 0 where `check` is true. Who waits for threads that are not there is
/// ended by the alarm.
template <typename Check> static int inChild(Check check) {
  pid_t child = fork();
  if (child == 0) {
    alarm(10);
    _exit(check() ? 0 : 1);
  }
  int status = -1;
  waitpid(child, &status, 0);
  return status;
}

TEST(TeamTest, ForkedProcessesHaveThreadsOfTheirOwn) {
#ifdef __aarch64__
  GTEST_SKIP() << "QEMU does not let a process with threads fork";
#endif
  auto plays = [](Team &team) {
    Rounds game{team, 50, std::vector<long>(size_t(team.size()) * 16)};
    team.run(playRounds, &game);
    return game.wrong.load() == 0 && game.cells[0] == 50;
  };
  for (int threads : {1, 2, 3}) {
    auto *team = new Team;
    ASSERT_TRUE(team->start(threads));
    EXPECT_TRUE(plays(*team));
    EXPECT_EQ(0, inChild([&] { return team->prepare() && plays(*team) && plays(*team); }));
    EXPECT_EQ(0, inChild([&] { // a child of a child
                return team->prepare() &&
                       inChild([&] { return team->prepare() && plays(*team); }) == 0;
              }));
    EXPECT_EQ(0, inChild([&] {
                delete team;
                return true;
              }));
    EXPECT_TRUE(team->prepare() && plays(*team));
    delete team;
  }
}
