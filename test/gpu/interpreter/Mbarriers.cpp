// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// mbarrier objects (ISA 9.7.13.15): a phase is complete when all its arrivals are there and all the
// bytes it expects. The state token of an arrival is the number of its phase.
#include "test/gpu/interpreter/Mbarriers.h"
#include "test/gpu/interpreter/Instructions.h"

namespace attn::ptx {

/// Where shared memory holds the object, which a kernel may not look into.
static uint32_t objectOffset(Step &step, int lane, uint64_t address) {
  return step.sharedOffset(lane, address, 8, 8);
}

Mbarrier *findMbarrier(Step &step, int lane, uint64_t address) {
  uint32_t offset = objectOffset(step, lane, address);
  if (step.machine.failed())
    return nullptr;
  auto found = step.block.mbarriers.find(offset);
  if (found == step.block.mbarriers.end() || !found->second.valid) {
    step.fail("no mbarrier was initialised at shared address " + std::to_string(offset), lane);
    return nullptr;
  }
  std::string error = step.block.hazards->read(step.author(lane, true), offset, 8);
  if (!error.empty())
    step.fail("the mbarrier: " + error, lane);
  return step.machine.failed() ? nullptr : &found->second;
}

std::string complete(Block &block, uint32_t offset, uint32_t bytes, uint32_t arrivals,
                     uint32_t actor, uint32_t clock) {
  auto found = block.mbarriers.find(offset);
  if (found == block.mbarriers.end() || !found->second.valid)
    return "the mbarrier at shared address " + std::to_string(offset) +
           " is gone when the copy that completes it arrives";
  Mbarrier &mbarrier = found->second;
  mbarrier.bytes -= bytes;
  mbarrier.pending -= arrivals;
  mbarrier.gathering.add(actor, clock);
  if (mbarrier.pending < 0)
    return "more arrivals than the mbarrier's " + std::to_string(mbarrier.count);
  mbarrier.settle();
  return "";
}

static void ignoreScopes(Decoding &decoding) {
  decoding.ignore({"release", "acquire", "relaxed", "cta", "cluster", "shared", "shared::cta",
                   "shared::cluster"});
  if (!decoding.take("b64"))
    decoding.fail("expected .b64");
}

Action decodeMbarrierInit(Decoding &decoding) {
  ignoreScopes(decoding);
  decoding.expectOperands(2);
  return [](Step &step) {
    step.each([&](int lane) {
      uint32_t offset = objectOffset(step, lane, step.address(step.operand(0), lane));
      auto count = uint32_t(step.read(step.operand(1), lane));
      if (count < 1 || count > (1 << 20) - 1)
        return step.fail("expected a count of 1 to 2^20 - 1, but got " + std::to_string(count),
                         lane);
      if (step.machine.failed() || !step.locate(lane, Space::Shared, offset, 8, true))
        return;
      Mbarrier &mbarrier = step.block.mbarriers[offset];
      if (mbarrier.valid)
        return step.fail("the mbarrier is initialised already and was not invalidated", lane);
      mbarrier = {};
      mbarrier.valid = true;
      mbarrier.count = count;
      mbarrier.pending = count;
      mbarrier.initialiser = step.thread(lane).index;
      mbarrier.line = step.instruction.line;
    });
  };
}

Action decodeMbarrierInval(Decoding &decoding) {
  ignoreScopes(decoding);
  decoding.expectOperands(1);
  return [](Step &step) {
    step.each([&](int lane) {
      uint64_t address = step.address(step.operand(0), lane);
      Mbarrier *mbarrier = findMbarrier(step, lane, address);
      if (mbarrier && step.locate(lane, Space::Shared, objectOffset(step, lane, address), 8, true))
        mbarrier->valid = false;
    });
  };
}

static void arrive(Step &step, int lane, Mbarrier &mbarrier, uint64_t count) {
  mbarrier.gathering.add(step.thread(lane).witness);
  mbarrier.pending -= int64_t(count);
  if (mbarrier.pending < 0)
    return step.fail("more arrivals than the mbarrier's " + std::to_string(mbarrier.count), lane);
  mbarrier.settle();
}

static bool expectBytes(Step &step, int lane, Mbarrier &mbarrier, uint64_t bytes) {
  mbarrier.bytes += int64_t(uint32_t(bytes));
  if (mbarrier.bytes > (1 << 20) - 1)
    step.fail("expects more than 2^20 - 1 bytes", lane);
  return !step.machine.failed();
}

/// `mbarrier.arrive{.expect_tx}{.noComplete}.b64 state, [address]{, count or bytes}`; a sink or
/// nothing for the state of a remote one.
Action decodeMbarrierArrive(Decoding &decoding) {
  bool expects = decoding.take("expect_tx");
  bool incomplete = decoding.take("noComplete");
  ignoreScopes(decoding);
  decoding.expectOperands(1, 3);
  size_t at = decoding.instruction.operands[0].kind == Operand::Kind::Address ? 0 : 1;
  bool more = decoding.operands() > at + 1;
  if (expects && !more)
    decoding.fail("expected the number of bytes");
  return [=](Step &step) {
    step.each([&](int lane) {
      Mbarrier *mbarrier = findMbarrier(step, lane, step.address(step.operand(at), lane));
      if (!mbarrier)
        return;
      uint64_t number = more ? uint32_t(step.read(step.operand(at + 1), lane)) : 1;
      if (expects && !expectBytes(step, lane, *mbarrier, number))
        return;
      if (at)
        step.write(step.operand(0), lane, mbarrier->phase);
      uint64_t phase = mbarrier->phase;
      arrive(step, lane, *mbarrier, expects ? 1 : number);
      if (incomplete && mbarrier->phase != phase)
        step.fail(".noComplete completes the phase", lane);
    });
  };
}

Action decodeMbarrierExpect(Decoding &decoding) {
  ignoreScopes(decoding);
  decoding.expectOperands(2);
  return [](Step &step) {
    step.each([&](int lane) {
      if (Mbarrier *mbarrier = findMbarrier(step, lane, step.address(step.operand(0), lane)))
        expectBytes(step, lane, *mbarrier, step.read(step.operand(1), lane));
    });
  };
}

/// try_wait suspends the thread, and now and then gives up although the phase is not complete, as
/// its time limit allows; test_wait answers at once. Lanes that wait together give up together:
/// MLIR lets a `bra.uni` follow.
Action decodeMbarrierWait(Decoding &decoding) {
  bool parity = decoding.take("parity");
  bool suspends = decoding.instruction.name.rfind("mbarrier.try_wait", 0) == 0;
  ignoreScopes(decoding);
  decoding.expectOperands(3, suspends ? 4 : 3);
  return [=](Step &step) {
    bool patient = suspends && step.machine.choose(2);
    step.each([&](int lane) {
      Mbarrier *mbarrier = findMbarrier(step, lane, step.address(step.operand(1), lane));
      if (!mbarrier)
        return;
      uint64_t token = step.read(step.operand(2), lane);
      if (parity && token > 1)
        return step.fail("expected a parity of 0 or 1, but got " + std::to_string(token), lane);
      auto complete = [mbarrier, parity, token] {
        return parity ? (mbarrier->phase & 1) != token : mbarrier->phase != token;
      };
      if (!complete() && patient) {
        return step.retryWhen(lane, complete, [mbarrier] {
          return "phase " + std::to_string(mbarrier->phase) + " of the mbarrier of line " +
                 std::to_string(mbarrier->line) + ", which lacks " +
                 std::to_string(mbarrier->pending) + " of " + std::to_string(mbarrier->count) +
                 " arrivals and " + std::to_string(mbarrier->bytes) + " bytes";
        });
      }
      if (complete() && mbarrier->teaching)
        mbarrier->teaching->teach(step.thread(lane).witness);
      step.write(step.operand(0), lane, complete());
    });
  };
}

} // namespace attn::ptx
