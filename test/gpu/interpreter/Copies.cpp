// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// cp.async and its groups (ISA 9.7.9.25.3), and the groups of bulk copies (9.7.9.25.6). A copy's
// accesses to shared memory are noted when it is issued, as they may happen from then on; its data
// move when the scheduler says so; its thread knows of them after its wait.
#include "test/gpu/interpreter/Copies.h"
#include "test/gpu/interpreter/Instructions.h"
#include "test/gpu/interpreter/Mbarriers.h"

namespace attn::ptx {

CopyGroups::Group &nextCopy(Step &step, int lane, CopyGroups &copies, const char *what) {
  Thread &thread = step.thread(lane);
  if (copies.actor == noActor)
    copies.actor = step.block.hazards->addActor(std::string(what) + " of " +
                                                step.block.threadName(thread.index));
  CopyGroups::Group &group = copies.open();
  group.lastClock = ++copies.clock;
  group.owed = true;
  ++group.toFinish;
  ++group.toRead;
  return group;
}

bool noteAccess(Step &step, int lane, const Author &author, uint32_t offset, uint32_t bytes,
                bool write) {
  std::string error = write ? step.block.hazards->write(author, offset, bytes)
                            : step.block.hazards->read(author, offset, bytes);
  if (!error.empty())
    step.fail(error, lane);
  else if (write)
    step.block.hazards->setInFlight(offset, bytes, true);
  return error.empty();
}

/// Issues one lane's copy of `bytes`, of which the source has `present` and the rest is zero.
static void issue(Step &step, int lane, uint32_t bytes, uint32_t present) {
  Block &block = step.block;
  Thread &thread = step.thread(lane);
  uint32_t to = step.sharedOffset(lane, step.address(step.operand(0), lane), bytes, bytes);
  const uint8_t *from = nullptr;
  if (present && !step.machine.failed())
    from = step.locate(lane, Space::Global, step.address(step.operand(1), lane), present, false,
                       false, bytes);
  if (step.machine.failed())
    return;
  nextCopy(step, lane, thread.copies, "a cp.async");
  Author author{&thread.witness, thread.copies.actor, thread.copies.clock, step.instruction.line};
  if (!noteAccess(step, lane, author, to, bytes, true))
    return;
  uint32_t group = thread.copies.openNumber();
  auto land = [&block, &thread, group, to, from, bytes, present] {
    std::memset(block.shared.data() + to, 0, bytes);
    if (present)
      std::memcpy(block.shared.data() + to, from, present);
    block.hazards->setInFlight(to, bytes, false);
    --thread.copies.numbered(group)->toRead;
    --thread.copies.numbered(group)->toFinish;
    return false;
  };
  block.copies.push_back({land, true});
}

Action decodeCpAsync(Decoding &decoding) {
  bool whole = decoding.take("cg");
  decoding.ignore({"ca", "L2::64B", "L2::128B", "L2::256B"});
  bool hint = decoding.take("L2::cache_hint");
  if (!(decoding.take("shared") || decoding.take("shared::cta")) || !decoding.take("global"))
    decoding.fail("expected .shared.global");
  decoding.expectOperands(hint ? 4 : 3, hint ? 5 : 4);
  uint64_t bytes = decoding.instruction.operands[2].value;
  if (bytes != 16 && (whole || (bytes != 4 && bytes != 8)))
    decoding.fail("expected 4, 8 or 16 bytes, with .cg 16");
  bool partial = decoding.operands() == (hint ? 5u : 4u);
  return [=](Step &step) {
    step.each([&](int lane) {
      uint64_t present = partial ? uint32_t(step.read(step.operand(3), lane)) : bytes;
      if (present > bytes)
        return step.fail("the source has more bytes than are copied", lane);
      issue(step, lane, uint32_t(bytes), uint32_t(present));
    });
  };
}

Action decodeCpAsyncCommit(Decoding &decoding) {
  decoding.expectOperands(0);
  return [](Step &step) { step.each([&](int lane) { step.thread(lane).copies.commit(); }); };
}

void waitForGroups(Step &step, int lane, CopyGroups &copies, uint32_t pending, bool readOnly) {
  auto settled = [&copies, pending, readOnly] { return copies.settled(pending, readOnly); };
  if (!settled())
    return step.retryWhen(lane, settled, [] { return "its asynchronous copies"; });
  if (uint32_t clock = copies.settle(pending, readOnly))
    Teaching(copies.actor, clock).teach(step.thread(lane).witness);
}

Action decodeCpAsyncWait(Decoding &decoding) {
  decoding.expectOperands(1);
  auto pending = uint32_t(decoding.instruction.operands[0].value);
  return [pending](Step &step) {
    step.each(
        [&](int lane) { waitForGroups(step, lane, step.thread(lane).copies, pending, false); });
  };
}

/// As a commit and a wait for all.
Action decodeCpAsyncWaitAll(Decoding &decoding) {
  decoding.expectOperands(0);
  return [](Step &step) {
    step.each([&](int lane) {
      CopyGroups &copies = step.thread(lane).copies;
      if (copies.open().toFinish)
        copies.commit();
      waitForGroups(step, lane, copies, 0, false);
    });
  };
}

/// The thread's copies so far arrive at an mbarrier when they are done; without .noinc the phase
/// first expects one arrival more.
Action decodeCpAsyncMbarrier(Decoding &decoding) {
  bool counted = decoding.take("noinc");
  decoding.ignore({"shared", "shared::cta", "b64"});
  decoding.expectOperands(1);
  return [counted](Step &step) {
    step.each([&](int lane) {
      uint64_t address = step.address(step.operand(0), lane);
      Mbarrier *mbarrier = findMbarrier(step, lane, address);
      if (!mbarrier)
        return;
      mbarrier->pending += !counted;
      Block &block = step.block;
      CopyGroups &copies = step.thread(lane).copies;
      for (CopyGroups::Group &group : copies.groups)
        group.owed = false;
      // A thread that has issued no copy arrives with none.
      uint32_t actor = copies.actor == noActor ? 0 : copies.actor;
      uint32_t clock = copies.actor == noActor ? 0 : copies.clock;
      uint32_t offset = step.sharedOffset(lane, address, 8, 8);
      auto arrive = [&block, &copies, actor, clock, offset, &machine = step.machine] {
        for (const CopyGroups::Group &group : copies.groups)
          if (group.toFinish)
            return true;
        std::string error = complete(block, offset, 0, 1, actor, clock);
        if (!error.empty())
          machine.fail("cp.async.mbarrier.arrive: " + error);
        return false;
      };
      block.copies.push_back({arrive, true});
    });
  };
}

Action decodeBulkCommit(Decoding &decoding) {
  decoding.expectOperands(0);
  return [](Step &step) { step.each([&](int lane) { step.thread(lane).bulkCopies.commit(); }); };
}

Action decodeBulkWait(Decoding &decoding) {
  bool readOnly = decoding.take("read");
  decoding.expectOperands(1);
  auto pending = uint32_t(decoding.instruction.operands[0].value);
  return [=](Step &step) {
    step.each([&](int lane) {
      waitForGroups(step, lane, step.thread(lane).bulkCopies, pending, readOnly);
    });
  };
}

} // namespace attn::ptx
