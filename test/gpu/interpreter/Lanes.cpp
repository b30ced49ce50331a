// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the lanes of a warp exchange: shfl.sync (ISA 9.7.9.6), vote, match, redux, elect
// (9.7.13.9-14) and bar.warp.sync (9.7.13.2). The scheduler lets all lanes of the membermask in at
// once.
#include "test/gpu/interpreter/Instructions.h"
#include <algorithm>

namespace attn::ptx {
namespace {

/// Marks operand i as the membermask, by which lanes meet.
void meetBy(Decoding &decoding, size_t operand) {
  decoding.instruction.convergence = Convergence::Mask;
  decoding.instruction.maskOperand = uint32_t(operand);
}

/// Whether every lane is in its own membermask, and the mask's lanes exist.
bool checkMask(Step &step) {
  auto mask = uint32_t(step.read(step.operand(step.instruction.maskOperand), step.firstLane()));
  bool fine = true;
  step.each([&](int lane) {
    if (!(mask >> lane & 1)) {
      fine = false;
      step.fail("the lane is not in its membermask", lane);
    }
  });
  return fine;
}

enum class Shuffle { Up, Down, Butterfly, Index };

/// The lane to read from, and whether it is in the segment (ISA's pseudo-code).
std::pair<int, bool> shuffleSource(Shuffle mode, int lane, uint32_t by, uint32_t clamp) {
  int offset = by & 31;
  int segment = clamp >> 8 & 31;
  int last = (lane & segment) | (int(clamp & 31) & ~segment);
  int first = lane & segment;
  switch (mode) {
  case Shuffle::Up:
    return {lane - offset, lane - offset >= last};
  case Shuffle::Down:
    return {lane + offset, lane + offset <= last};
  case Shuffle::Butterfly:
    return {lane ^ offset, (lane ^ offset) <= last};
  case Shuffle::Index:
    break;
  }
  int source = first | (offset & ~segment);
  return {source, source <= last};
}

} // namespace

Action decodeShfl(Decoding &decoding) {
  int found = decoding.takeOneOf({"up", "down", "bfly", "idx"});
  decoding.takeType();
  decoding.expectOperands(5);
  if (found < 0)
    decoding.fail("expected .up, .down, .bfly or .idx");
  meetBy(decoding, 4);
  return [mode = Shuffle(found)](Step &step) {
    if (!checkMask(step))
      return;
    uint64_t values[warpSize] = {};
    step.each([&](int lane) { values[lane] = step.read(step.operand(1), lane); });
    step.each([&](int lane) {
      auto [source, inside] = shuffleSource(mode, lane, uint32_t(step.read(step.operand(2), lane)),
                                            uint32_t(step.read(step.operand(3), lane)));
      source = inside ? source : lane;
      if (!step.active(source))
        return step.fail(
            "reads from lane " + std::to_string(source) + ", which is not in the membermask", lane);
      step.write(step.operand(0), lane, values[source]);
      if (!step.operand(0).parts.empty())
        step.write(step.operand(0).parts[0], lane, inside);
    });
  };
}

Action decodeVote(Decoding &decoding) {
  int mode = decoding.takeOneOf({"all", "any", "uni", "ballot"});
  decoding.takeType();
  decoding.expectOperands(3);
  if (mode < 0)
    decoding.fail("expected .all, .any, .uni or .ballot");
  meetBy(decoding, 2);
  return [mode](Step &step) {
    if (!checkMask(step))
      return;
    uint32_t ballot = 0;
    step.each([&](int lane) { ballot |= uint32_t(step.read(step.operand(1), lane) & 1) << lane; });
    bool all = ballot == step.lanes;
    uint64_t results[] = {all, ballot != 0, all || ballot == 0, ballot};
    step.each([&](int lane) { step.write(step.operand(0), lane, results[mode]); });
  };
}

Action decodeMatch(Decoding &decoding) {
  int bits = bitsOf(decoding.takeType());
  decoding.expectOperands(3);
  meetBy(decoding, 2);
  return [bits](Step &step) {
    if (!checkMask(step))
      return;
    uint64_t values[warpSize] = {};
    step.each([&](int lane) { values[lane] = step.read(step.operand(1), lane) << (64 - bits); });
    step.each([&](int lane) {
      uint32_t same = 0;
      for (int other = 0; other < warpSize; ++other)
        if (step.active(other) && values[other] == values[lane])
          same |= 1u << other;
      step.write(step.operand(0), lane, same);
    });
  };
}

Action decodeRedux(Decoding &decoding) {
  int mode = decoding.takeOneOf({"add", "min", "max", "and", "or", "xor"});
  Type type = decoding.takeType();
  decoding.expectOperands(3);
  if (mode < 0 || bitsOf(type) != 32 || isFloat(type))
    decoding.fail("expected an operation on 32-bit integers");
  meetBy(decoding, 2);
  return [=](Step &step) {
    if (!checkMask(step))
      return;
    bool first = true;
    // Wide enough for both kinds of 32-bit integers.
    int64_t total = 0;
    step.each([&](int lane) {
      uint64_t bits = step.read(step.operand(1), lane);
      int64_t value = isSigned(type) ? int64_t(int32_t(bits)) : int64_t(uint32_t(bits));
      if (first)
        total = value;
      else
        total = mode == 0   ? total + value
                : mode == 1 ? std::min(total, value)
                : mode == 2 ? std::max(total, value)
                : mode == 3 ? total & value
                : mode == 4 ? total | value
                            : total ^ value;
      first = false;
    });
    step.each([&](int lane) { step.write(step.operand(0), lane, uint32_t(total)); });
  };
}

Action decodeActivemask(Decoding &decoding) {
  decoding.takeType();
  decoding.expectOperands(1);
  return [](Step &step) {
    step.each([&](int lane) { step.write(step.operand(0), lane, step.lanes); });
  };
}

/// Which lane is elected the manual leaves open, except that it is always the same one: the seed
/// says which.
Action decodeElect(Decoding &decoding) {
  decoding.expectOperands(2);
  meetBy(decoding, 1);
  return [](Step &step) {
    if (!checkMask(step))
      return;
    uint32_t candidates = step.lanes;
    for (auto n = step.machine.options.seed % __builtin_popcount(candidates); n; --n)
      candidates &= candidates - 1;
    int leader = __builtin_ctz(candidates);
    const Operand &to = step.operand(0);
    step.each([&](int lane) {
      step.write(to, lane, leader);
      if (!to.parts.empty())
        step.write(to.parts[0], lane, lane == leader);
    });
  };
}

Action decodeWarpSync(Decoding &decoding) {
  decoding.expectOperands(1);
  meetBy(decoding, 0);
  return [](Step &step) {
    if (!checkMask(step))
      return;
    Gathering gathering;
    step.each([&](int lane) { gathering.add(step.thread(lane).witness); });
    Teaching teaching(gathering.snapshot());
    step.each([&](int lane) { teaching.teach(step.thread(lane).witness); });
  };
}

} // namespace attn::ptx
