// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The state of a running grid: blocks, warps, threads and what they wait for. Scheduler.cpp runs
// it, the instructions' actions change it through a Step (Step.h).
#pragma once

#include "test/gpu/interpreter/Hazards.h"
#include "test/gpu/interpreter/Launch.h"
#include <deque>
#include <map>
#include <random>

namespace attn::ptx {

struct Machine;
struct Block;

constexpr int warpSize = 32;
/// What a wait for the completion of asynchronous operations leaves: groups in order of commitment.
constexpr uint32_t noActor = ~0u;

/// The asynchronous copies of a thread: `cp.async`, or bulk copies with bulk groups.
struct CopyGroups {
  struct Group {
    /// Copies that have yet to read their source, and those yet to finish.
    uint32_t toRead = 0;
    uint32_t toFinish = 0;
    uint32_t lastClock = 0;
    /// It has copies that its thread has neither waited for nor handed to an mbarrier.
    bool owed = false;
  };
  /// The open group is the last.
  std::deque<Group> groups = std::deque<Group>(1);
  uint32_t dropped = 0;
  uint32_t actor = noActor;
  uint32_t clock = 0;

  Group &open() { return groups.back(); }
  uint32_t openNumber() const { return dropped + groups.size() - 1; }
  Group *numbered(uint32_t number);
  void commit() { groups.emplace_back(); }
  /// Whether all but the `pending` newest committed groups are finished, or have read their source.
  bool settled(uint32_t pending, bool readOnly) const;
  /// Notes that a wait for all but `pending` groups is over; the clock of the last copy of those.
  uint32_t settle(uint32_t pending, bool readOnly);
  bool owed() const;
};

struct Thread {
  enum class State : uint8_t { Runnable, Waiting, Exited };
  State state = State::Runnable;
  uint32_t pc = 0;
  uint32_t index = 0;
  Witness witness;
  /// Waiting: whether the thread may try its instruction again; a barrier wakes by itself and has
  /// none. And for whom it waits, in words.
  std::function<bool()> ready;
  std::function<std::string()> waitingFor;
  /// Where the wait began.
  int line = 0;
  CopyGroups copies;
  CopyGroups bulkCopies;
  std::vector<uint8_t> local;
};

/// `wgmma` operations between two commits.
struct ProductGroup {
  std::vector<uint32_t> accumulators;
  std::vector<uint32_t> sources;
  uint32_t lastClock = 0;
  bool empty() const { return accumulators.empty(); }
};

/// What a warp knows of its asynchronous products (ISA 9.7.15).
struct Products {
  /// Per register: how many products in flight write it, or read it.
  std::vector<uint8_t> writers;
  std::vector<uint8_t> readers;
  /// Per register: the number of the fence after which it was last touched by other instructions.
  std::vector<uint32_t> touched;
  /// Per register: the width of the product that last had it as accumulator, and its fence.
  std::vector<uint32_t> widths;
  std::vector<uint32_t> widthFences;
  uint32_t fences = 0;
  std::deque<ProductGroup> groups = std::deque<ProductGroup>(1);
  uint32_t actor = noActor;
  uint32_t clock = 0;
  /// How many of its warp group's products the warp has issued.
  uint32_t issued = 0;
  bool inFlight() const { return groups.size() > 1 || !groups[0].empty(); }
};

struct Warp {
  Block *block = nullptr;
  uint32_t index = 0;
  uint32_t firstThread = 0;
  /// Lanes that exist.
  uint32_t lanes = 0;
  /// registers[number * 32 + lane].
  std::vector<uint64_t> registers;
  Products products;
  /// `setmaxnreg`: registers of each thread.
  uint32_t registerCount = 0;

  Thread &thread(int lane) const;
};

/// A barrier of `bar` and `barrier` (ISA 9.7.13.1).
struct Barrier {
  uint32_t expected = 0;
  uint32_t arrived = 0;
  std::vector<Thread *> waiting;
  Gathering gathering;
};

/// An mbarrier object (ISA 9.7.13.15).
struct Mbarrier {
  /// Between its initialisation and its invalidation.
  bool valid = false;
  uint32_t count = 0;
  int64_t pending = 0;
  int64_t bytes = 0;
  /// How many phases are complete; the last one's knowledge.
  uint64_t phase = 0;
  Gathering gathering;
  SharedKnowledge completed;
  std::shared_ptr<Teaching> teaching;
  /// The async proxy may use it: a fence came after its initialisation.
  bool fenced = false;
  uint32_t initialiser = 0;
  int line = 0;

  void settle();
};

/// A copy under way. `advance` does its next part and says whether there is more.
struct PendingCopy {
  std::function<bool()> advance;
  bool toShared;
};

struct Block {
  Machine *machine = nullptr;
  Dim index;
  uint32_t number = 0;
  std::vector<Thread> threads;
  std::vector<Warp> warps;
  std::vector<uint8_t> shared;
  std::unique_ptr<Hazards> hazards;
  Barrier barriers[16];
  std::map<uint32_t, Mbarrier> mbarriers;
  std::vector<PendingCopy> copies;
  /// For every warp group the instructions of its products, in order.
  std::vector<std::vector<uint32_t>> productOrder;
  /// Actors of tensor copies, taken in turn.
  std::vector<uint32_t> copyActors;
  std::vector<uint32_t> copyClocks;
  uint32_t nextCopyActor = 0;
  /// For `setmaxnreg`.
  int64_t freeRegisters = 0;
  uint32_t alive = 0;

  std::string threadName(uint32_t thread) const;
  std::string name() const;
};

struct Machine {
  Device &device;
  const Kernel &kernel;
  Options options;
  Dim grid;
  Dim block;
  uint32_t dynamicSharedBytes;
  std::vector<uint8_t> parameters;
  std::vector<uint8_t> globals;
  std::vector<uint8_t> constants;
  std::mt19937_64 random;
  std::vector<std::unique_ptr<Block>> resident;
  uint32_t started = 0;
  uint64_t steps = 0;
  std::string error;
  /// The time in which nothing moved, in nanoseconds. A kernel that reads the timer may wait so.
  uint64_t idle = 0;
  bool readsTimer = false;
  /// The kernel has `wgmma`, whose registers are watched.
  bool usesProducts = false;

  /// Keeps the first error.
  void fail(const std::string &message);
  bool failed() const { return !error.empty(); }
  /// A number in [0, bound).
  uint32_t choose(uint32_t bound) { return uint32_t(random() % bound); }

  /// %globaltimer: a microsecond for each instruction of a warp.
  uint64_t nanoseconds() const { return 1000 * steps + idle; }

  void run();

private:
  void startBlock();
  bool runWarp(Warp &warp, uint32_t budget);
  struct Choice {
    uint32_t lanes = 0;
    uint32_t pc = 0;
    /// They are all that the warp has and that do not wait.
    bool areAll = false;
  };
  Choice chooseLanes(Warp &warp, bool lowestFirst);
  uint32_t lanesToGo(Warp &warp, uint32_t lanes, uint32_t pc);
  uint32_t convergedLanes(Warp &warp, uint32_t lanes, const Instruction &instruction);
  bool landCopies(Block &block, uint32_t odds);
  bool execute(Warp &warp, uint32_t lanes, uint32_t pc);
  void finishBlock(Block &block);
  bool passTime();
  void reportDeadlock();
};

} // namespace attn::ptx
