// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Who goes next. In each round every warp, in random order, executes a random number of
// instructions, and pending copies arrive by chance. Of a diverged warp the lanes with the lowest
// pc go first, so that branches meet again behind an `if`; now and then others do, as on a GPU
// nothing says that they wait. Instructions that lanes execute together wait until those lanes
// have met. A round in which nothing moves is a deadlock.
#include "test/gpu/interpreter/Step.h"
#include <algorithm>

namespace attn::ptx {

/// The lanes that may execute `instruction` now, of `lanes`, which are there.
uint32_t Machine::convergedLanes(Warp &warp, uint32_t lanes, const Instruction &instruction) {
  if (instruction.convergence == Convergence::None)
    return lanes;
  if (instruction.convergence == Convergence::Warp)
    return lanes == warp.lanes ? lanes : 0;
  Step step{*this, *warp.block, warp, instruction, lanes, lanes, 0};
  for (int lane = 0; lane < warpSize; ++lane) {
    if (!step.active(lane))
      continue;
    auto mask = uint32_t(step.read(step.operand(instruction.maskOperand), lane));
    uint32_t same = 0;
    for (int other = lane; other < warpSize; ++other)
      if (step.active(other) &&
          uint32_t(step.read(step.operand(instruction.maskOperand), other)) == mask)
        same |= 1u << other;
    if (same == (mask & warp.lanes) || !(mask >> lane & 1))
      return same;
  }
  return 0;
}

/// The lanes that may execute the instruction at `pc` now, of `lanes`, which are there.
uint32_t Machine::lanesToGo(Warp &warp, uint32_t lanes, uint32_t pc) {
  return pc < kernel.instructions.size() ? convergedLanes(warp, lanes, kernel.instructions[pc])
                                         : lanes;
}

/// Lanes that are at one instruction and may execute it; none where all wait.
Machine::Choice Machine::chooseLanes(Warp &warp, bool lowestFirst) {
  uint32_t left = 0;
  for (int lane = 0; lane < warpSize; ++lane)
    if (warp.lanes >> lane & 1 && warp.thread(lane).state == Thread::State::Runnable)
      left |= 1u << lane;
  uint32_t all = left;
  while (left) {
    uint32_t pc = warp.thread(__builtin_ctz(left)).pc;
    for (uint32_t rest = left; rest; rest &= rest - 1) {
      uint32_t other = warp.thread(__builtin_ctz(rest)).pc;
      if (lowestFirst ? other < pc : other > pc)
        pc = other;
    }
    uint32_t there = 0;
    for (uint32_t rest = left; rest; rest &= rest - 1)
      if (warp.thread(__builtin_ctz(rest)).pc == pc)
        there |= rest & -rest;
    if (uint32_t together = lanesToGo(warp, there, pc))
      return {together, pc, together == all};
    left &= ~there;
  }
  return {};
}

/// Whether the lanes go straight on (Step::isStraight).
bool Machine::execute(Warp &warp, uint32_t lanes, uint32_t pc) {
  ++steps;
  Block &home = *warp.block;
  if (pc >= kernel.instructions.size()) {
    fail("line " + std::to_string(kernel.line) + ": kernel '" + kernel.name +
         "' runs past its end without ret");
    return false;
  }
  const Instruction &instruction = kernel.instructions[pc];
  Step step{*this, home, warp, instruction, lanes, lanes, pc + 1};
  for (uint32_t rest = lanes; rest; rest &= rest - 1)
    warp.thread(__builtin_ctz(rest)).pc = pc + 1;
  if (instruction.guarded) {
    for (int lane = 0; lane < warpSize; ++lane)
      if (lanes >> lane & 1 && !(step.read(instruction.guard, lane) & 1))
        step.lanes &= ~(1u << lane);
    if (instruction.convergence != Convergence::None && step.lanes && step.lanes != lanes) {
      step.fail("only some of the lanes that execute it together have its guard set",
                __builtin_ctz(lanes & ~step.lanes));
      return false;
    }
  }
  if (step.lanes)
    instruction.action(step);
  return step.isStraight;
}

bool Machine::runWarp(Warp &warp, uint32_t budget) {
  bool moved = false;
  for (int lane = 0; lane < warpSize; ++lane) {
    if (!(warp.lanes >> lane & 1))
      continue;
    Thread &thread = warp.thread(lane);
    if (thread.state == Thread::State::Waiting && thread.ready && thread.ready())
      thread.state = Thread::State::Runnable;
  }
  // Lanes that go on together need not be looked for.
  Choice next;
  bool isKnown = false;
  while (budget-- && !failed()) {
    bool lowestFirst = choose(16) != 0;
    if (isKnown) {
      uint32_t together = lanesToGo(warp, next.lanes, next.pc);
      next.areAll = together == next.lanes;
      next.lanes = together;
    } else {
      next = chooseLanes(warp, lowestFirst);
    }
    if (!next.lanes)
      break;
    isKnown = execute(warp, next.lanes, next.pc++) && next.areAll;
    moved = true;
  }
  return moved;
}

/// Lets pending copies go on, each with a chance of 1 in `odds`, a power of two.
bool Machine::landCopies(Block &home, uint32_t odds) {
  bool moved = false;
  std::vector<PendingCopy> &copies = home.copies;
  size_t kept = 0;
  uint64_t bits = 0;
  for (size_t i = 0; i < copies.size(); ++i) {
    // Eight bits a copy: odds are at most 64.
    bits = i % 8 == 0 ? random() : bits >> 8;
    bool goesOn = !failed() && bits % odds == 0;
    moved |= goesOn;
    if (goesOn && !copies[i].advance())
      continue;
    if (kept != i)
      copies[kept] = std::move(copies[i]);
    ++kept;
  }
  copies.resize(kept);
  return moved;
}

void Machine::finishBlock(Block &home) {
  for (const Warp &warp : home.warps)
    if (warp.products.inFlight())
      return fail(home.name() + " ended with a wgmma that no wgmma.wait_group has waited for");
  for (const PendingCopy &copy : home.copies)
    if (copy.toShared)
      return fail(home.name() + " ended with copies into its shared memory under way");
  for (size_t i = 0; i < 16; ++i)
    if (home.barriers[i].arrived)
      return fail(home.name() + " ended with " + std::to_string(home.barriers[i].arrived) + " of " +
                  std::to_string(home.barriers[i].expected) + " threads arrived at barrier " +
                  std::to_string(i));
}

/// Where nothing moves, lanes that try to wait (mbarrier.try_wait) look again some time later,
/// which a kernel that reads the timer sees. False where there are none.
bool Machine::passTime() {
  bool isWoken = false;
  for (auto &home : resident)
    for (Thread &thread : home->threads)
      if (readsTimer && thread.state == Thread::State::Waiting && thread.ready) {
        thread.state = Thread::State::Runnable;
        isWoken = true;
      }
  idle += isWoken ? 1'000'000'000 : 0;
  return isWoken;
}

/// Who waits where; lanes of a warp that wait alike are one line.
void Machine::reportDeadlock() {
  std::string text = "deadlock: no thread can go on";
  for (const auto &home : resident)
    for (Warp &warp : home->warps) {
      std::map<std::string, uint32_t> reasons;
      for (int lane = 0; lane < warpSize; ++lane) {
        if (!(warp.lanes >> lane & 1))
          continue;
        const Thread &thread = warp.thread(lane);
        if (thread.state == Thread::State::Exited)
          reasons["have exited"] |= 1u << lane;
        else if (thread.state == Thread::State::Waiting)
          reasons["wait in line " + std::to_string(thread.line) + " for " + thread.waitingFor()] |=
              1u << lane;
        else
          reasons["wait in line " + std::to_string(kernel.instructions[thread.pc].line) +
                  " for the other lanes of " + kernel.instructions[thread.pc].name +
                  ", which must be executed together"] |= 1u << lane;
      }
      bool onlyExits = reasons.size() == 1 && reasons.begin()->first == "have exited";
      for (const auto &[reason, lanes] : reasons) {
        char mask[16];
        std::snprintf(mask, sizeof mask, "0x%08x", lanes);
        if (!onlyExits)
          text += "\n  " + home->name() + ", warp " + std::to_string(warp.index) + ": lanes " +
                  mask + " " + reason;
      }
    }
  fail(text);
}

void Machine::run() {
  // How eagerly copies arrive is one thing that seeds vary.
  uint32_t odds = 1u << choose(7);
  for (const Instruction &instruction : kernel.instructions) {
    usesProducts |= instruction.name.compare(0, 5, "wgmma") == 0;
    for (const Operand &operand : instruction.operands)
      readsTimer |=
          operand.kind == Operand::Kind::Special && operand.special == Special::GlobalTimer;
  }
  while (!failed()) {
    while (resident.size() < options.residentBlocks && started < grid.count())
      startBlock();
    if (resident.empty())
      return;
    std::vector<Warp *> order;
    for (auto &home : resident)
      for (Warp &warp : home->warps)
        order.push_back(&warp);
    std::shuffle(order.begin(), order.end(), random);
    bool moved = false;
    bool skipped = false;
    for (Warp *warp : order) {
      static constexpr uint32_t budgets[] = {0, 1, 3, 10, 30, 100, 1000};
      uint32_t budget = budgets[choose(7)];
      skipped |= budget == 0;
      moved |= budget && runWarp(*warp, budget);
      moved |= landCopies(*warp->block, odds);
    }
    if (steps > options.stepLimit)
      fail("the kernel does not end: stopped after " + std::to_string(steps) + " instructions");
    for (size_t i = 0; i < resident.size() && !failed();) {
      if (resident[i]->alive) {
        ++i;
        continue;
      }
      finishBlock(*resident[i]);
      while (!resident[i]->copies.empty() && !failed())
        landCopies(*resident[i], 1);
      resident.erase(resident.begin() + i);
      moved = true;
    }
    if (moved || skipped || failed())
      continue;
    for (auto &home : resident)
      moved |= landCopies(*home, 1);
    if (!moved && !passTime())
      reportDeadlock();
  }
}

} // namespace attn::ptx
