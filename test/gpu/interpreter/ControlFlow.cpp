// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Branches and ends (ISA 9.7.12), and what else steers a thread (9.7.19).
#include "test/gpu/interpreter/Instructions.h"

namespace attn::ptx {

Action decodeBra(Decoding &decoding) {
  bool uniform = decoding.take("uni");
  decoding.expectOperands(1);
  return [uniform](Step &step) {
    auto target = uint32_t(step.operand(0).value);
    if (uniform && step.lanes != step.arrived)
      return step.fail("not all lanes take it", __builtin_ctz(step.arrived & ~step.lanes));
    step.each([&](int lane) { step.jump(lane, target); });
  };
}

Action decodeBrx(Decoding &decoding) {
  decoding.ignore({"uni"});
  size_t targets = decoding.operands() - 1;
  return [targets](Step &step) {
    step.each([&](int lane) {
      auto index = uint32_t(step.read(step.operand(0), lane));
      if (index >= targets)
        return step.fail(
            "index " + std::to_string(index) + " of " + std::to_string(targets) + " labels", lane);
      step.jump(lane, uint32_t(step.operand(1 + index).value));
    });
  };
}

Action decodeRet(Decoding &decoding) {
  decoding.ignore({"uni"});
  decoding.expectOperands(0);
  return [](Step &step) {
    step.each([&](int lane) {
      Thread &thread = step.thread(lane);
      if (thread.copies.owed() || thread.bulkCopies.owed())
        return step.fail("ends with asynchronous copies that nothing has waited for", lane);
      thread.state = Thread::State::Exited;
      step.isStraight = false;
      --step.block.alive;
    });
  };
}

Action decodeTrap(Decoding &decoding) {
  decoding.expectOperands(0);
  return [](Step &step) { step.fail("reached", step.firstLane()); };
}

/// What changes only time, or the order of accesses to global memory.
Action decodeNothing(Decoding &decoding) {
  decoding.ignore({"u32", "gl", "cta", "sys", "launch_dependents", "wait"});
  return [](Step &) {};
}

/// setmaxnreg (ISA 9.7.19.5): `.dec` gives registers back to the block's pool, `.inc` waits until
/// the pool has as many as it takes.
Action decodeSetmaxnreg(Decoding &decoding) {
  int increase = decoding.takeOneOf({"dec", "inc"});
  bool aligned = decoding.takeAll({"sync", "aligned"});
  decoding.takeType();
  decoding.expectOperands(1);
  uint64_t count = decoding.instruction.operands[0].value;
  if (increase < 0 || !aligned)
    decoding.fail("expected .inc or .dec, and .sync.aligned");
  if (count < 24 || count > 256 || count % 8)
    decoding.fail("expected a multiple of 8 from 24 to 256, but got " + std::to_string(count));
  decoding.instruction.convergence = Convergence::Warp;
  return [=](Step &step) {
    Warp &warp = step.warp;
    int64_t more = (int64_t(count) - warp.registerCount) * warpSize;
    if (increase ? more < 0 : more > 0)
      return step.fail(std::string(increase ? ".inc to fewer" : ".dec to more") +
                       " registers than the " + std::to_string(warp.registerCount) +
                       " that each thread has");
    if (more > step.block.freeRegisters) {
      Block &block = step.block;
      step.each([&](int lane) {
        step.retryWhen(
            lane, [&block, more] { return block.freeRegisters >= more; },
            [&block, more] {
              return std::to_string(more) + " registers, of which " +
                     std::to_string(block.freeRegisters) + " are free";
            });
      });
      return;
    }
    step.block.freeRegisters -= more;
    warp.registerCount = uint32_t(count);
  };
}

} // namespace attn::ptx
