// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sixteen barriers of a block (ISA 9.7.13.1), and fences (9.7.13.4).
#include "test/gpu/interpreter/Instructions.h"

namespace attn::ptx {
namespace {

/// How many arrivals a lane stands for: the last one of a warp that is cut short by the block's
/// end, also for those that do not exist.
uint32_t weight(const Warp &warp, int lane) {
  bool last = warp.lanes >> lane == 1;
  return last ? warpSize - lane : 1;
}

void release(Barrier &barrier) {
  Teaching teaching(barrier.gathering.snapshot());
  for (Thread *thread : barrier.waiting) {
    teaching.teach(thread->witness);
    thread->state = Thread::State::Runnable;
  }
  barrier = {};
}

void arrive(Step &step, int lane, uint64_t id, uint64_t count, bool waits) {
  if (id > 15)
    return step.fail("expected a barrier of 0 to 15, but got " + std::to_string(id), lane);
  if (count == 0 || count % warpSize)
    return step.fail("expected a multiple of 32 threads, but got " + std::to_string(count), lane);
  Barrier &barrier = step.block.barriers[id];
  if (barrier.arrived && barrier.expected != count)
    return step.fail("barrier " + std::to_string(id) + " is for " + std::to_string(count) +
                         " threads here, but for " + std::to_string(barrier.expected) +
                         " where others have arrived",
                     lane);
  barrier.expected = uint32_t(count);
  barrier.arrived += weight(step.warp, lane);
  Thread &thread = step.thread(lane);
  barrier.gathering.add(thread.witness);
  step.isStraight = false; // whom it releases may be of this warp
  if (waits) {
    barrier.waiting.push_back(&thread);
    thread.state = Thread::State::Waiting;
    thread.ready = nullptr;
    thread.line = step.instruction.line;
    thread.waitingFor = [&barrier, id] {
      return "barrier " + std::to_string(id) + ", at which " + std::to_string(barrier.arrived) +
             " of " + std::to_string(barrier.expected) + " threads have arrived";
    };
  }
  if (barrier.arrived > barrier.expected)
    return step.fail("more threads arrive at barrier " + std::to_string(id) + " than its " +
                         std::to_string(barrier.expected),
                     lane);
  if (barrier.arrived == barrier.expected)
    release(barrier);
}

Action barrier(Decoding &decoding, bool waits, bool aligned) {
  aligned |= decoding.take("aligned");
  decoding.expectOperands(waits ? 1 : 2, 2);
  if (aligned)
    decoding.instruction.convergence = Convergence::Warp;
  bool counted = decoding.operands() > 1;
  return [=](Step &step) {
    uint64_t first = step.read(step.operand(0), step.firstLane());
    step.each([&](int lane) {
      uint64_t id = step.read(step.operand(0), lane);
      if (aligned && id != first)
        return step.fail("the lanes of a warp name different barriers", lane);
      uint64_t all = step.block.warps.size() * warpSize;
      arrive(step, lane, id, counted ? step.read(step.operand(1), lane) : all, waits);
    });
  };
}

} // namespace

Action decodeBarSync(Decoding &decoding) { return barrier(decoding, true, true); }
Action decodeBarArrive(Decoding &decoding) { return barrier(decoding, false, true); }
Action decodeBarrierSync(Decoding &decoding) { return barrier(decoding, true, false); }
Action decodeBarrierArrive(Decoding &decoding) { return barrier(decoding, false, false); }

/// fence.proxy.async orders the generic accesses that the thread knows of before the async proxy's;
/// fence.mbarrier_init does it for the thread's mbarriers. Others order global memory alone.
Action decodeFence(Decoding &decoding) {
  decoding.expectOperands(0);
  decoding.ignore({"sc", "acq_rel", "acquire", "release", "cta", "cluster", "gpu", "sys",
                   "sync_restrict::shared::cta", "sync_restrict::shared::cluster"});
  bool init = decoding.take("mbarrier_init");
  bool proxy = decoding.takeAll({"proxy", "async"});
  bool global = decoding.take("global");
  decoding.ignore({"shared::cta", "shared::cluster"});
  return [=](Step &step) {
    step.each([&](int lane) {
      Thread &thread = step.thread(lane);
      for (auto &[address, mbarrier] : step.block.mbarriers)
        if ((init || proxy) && mbarrier.initialiser == thread.index)
          mbarrier.fenced = true;
      if (proxy && !global)
        thread.witness.fence();
    });
  };
}

} // namespace attn::ptx
