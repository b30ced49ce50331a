// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Moves between registers, and loads and stores (ISA 9.7.9).
#include "test/gpu/interpreter/Instructions.h"

namespace attn::ptx {

/// A copy of a register is that register for `wgmma.fence`: LLVM moves accumulators about, and
/// ptxas drops the moves.
static void move(Step &step, int lane) {
  const Operand &from = step.operand(1);
  const Operand &to = step.operand(0);
  std::vector<uint32_t> &touched = step.warp.products.touched;
  bool fromRegister = from.kind == Operand::Kind::Register && to.kind == Operand::Kind::Register;
  uint32_t before = fromRegister ? touched[from.reg] : 0;
  step.write(to, lane, step.read(from, lane));
  if (fromRegister && lane == 31 - __builtin_clz(step.lanes))
    touched[to.reg] = touched[from.reg] = before;
  else if (fromRegister)
    touched[from.reg] = before;
}

static uint64_t lowBits(uint64_t value, int bits) {
  return bits == 64 ? value : value & ((1ull << bits) - 1);
}

Action decodeMov(Decoding &decoding) {
  int bits = bitsOf(decoding.takeType());
  decoding.expectOperands(2);
  const Operand &to = decoding.instruction.operands[0];
  const Operand &from = decoding.instruction.operands[1];
  bool unpack = to.kind == Operand::Kind::Vector;
  bool pack = from.kind == Operand::Kind::Vector;
  if (unpack && pack)
    decoding.fail("expected at most one vector");
  if (!unpack && !pack)
    return [](Step &step) { step.each([&](int lane) { move(step, lane); }); };
  size_t count = (unpack ? to : from).parts.size();
  int part = bits / int(count ? count : 1);
  if (count != 2 && count != 4)
    decoding.fail("expected a vector of 2 or 4");
  return [=](Step &step) {
    step.each([&](int lane) {
      uint64_t value = 0;
      if (unpack) {
        value = step.read(step.operand(1), lane);
        for (size_t i = 0; i < count; ++i)
          step.write(step.operand(0).parts[i], lane, lowBits(value >> (part * i), part));
        return;
      }
      for (size_t i = 0; i < count; ++i)
        value |= lowBits(step.read(step.operand(1).parts[i], lane), part) << (part * i);
      step.write(step.operand(0), lane, value);
    });
  };
}

namespace {

struct AccessForm {
  Space space;
  Type type;
  uint32_t bytes;
  size_t count;
  /// Relaxed, acquire, release and volatile accesses do not race with one another.
  bool strong;
};

AccessForm takeAccess(Decoding &decoding) {
  AccessForm form{};
  form.strong = decoding.takeOneOf({"relaxed", "acquire", "release", "volatile"}) >= 0;
  decoding.ignore({"weak",
                   "cta",
                   "cluster",
                   "gpu",
                   "sys",
                   "nc",
                   "ca",
                   "cg",
                   "cs",
                   "lu",
                   "cv",
                   "wb",
                   "wt",
                   "L1::evict_normal",
                   "L1::evict_unchanged",
                   "L1::evict_first",
                   "L1::evict_last",
                   "L1::no_allocate",
                   "L2::cache_hint",
                   "L2::64B",
                   "L2::128B",
                   "L2::256B",
                   "L2::evict_normal",
                   "L2::evict_first",
                   "L2::evict_last"});
  form.space = decoding.takeSpace();
  int vector = decoding.takeOneOf({"v2", "v4"});
  form.count = vector < 0 ? 1 : vector ? 4 : 2;
  form.type = decoding.takeType();
  form.bytes = bitsOf(form.type) / 8;
  decoding.expectOperands(2, 3);
  if (!form.bytes || form.bytes * form.count > 16)
    decoding.fail("expected an access of 1 to 16 bytes");
  return form;
}

uint64_t extend(Type type, uint64_t bits) {
  int shift = 64 - bitsOf(type);
  return isSigned(type) ? uint64_t(int64_t(bits << shift) >> shift) : bits;
}

} // namespace

Action decodeLd(Decoding &decoding) {
  AccessForm form = takeAccess(decoding);
  if (form.count > 1)
    decoding.expectVector(0, form.count);
  return [form](Step &step) {
    step.each([&](int lane) {
      uint32_t bytes = form.bytes * form.count;
      const uint8_t *data = step.locate(lane, form.space, step.address(step.operand(1), lane),
                                        bytes, false, form.strong);
      uint8_t loaded[16] = {};
      if (!data)
        return;
      std::memcpy(loaded, data, bytes);
      for (size_t i = 0; i < form.count; ++i) {
        uint64_t bits = 0;
        std::memcpy(&bits, loaded + i * form.bytes, form.bytes);
        const Operand &to = form.count > 1 ? step.operand(0).parts[i] : step.operand(0);
        step.write(to, lane, extend(form.type, bits));
      }
    });
  };
}

Action decodeSt(Decoding &decoding) {
  AccessForm form = takeAccess(decoding);
  if (form.count > 1)
    decoding.expectVector(1, form.count);
  return [form](Step &step) {
    step.each([&](int lane) {
      uint8_t stored[16];
      for (size_t i = 0; i < form.count; ++i) {
        const Operand &from = form.count > 1 ? step.operand(1).parts[i] : step.operand(1);
        uint64_t bits = step.read(from, lane);
        std::memcpy(stored + i * form.bytes, &bits, form.bytes);
      }
      uint32_t bytes = form.bytes * form.count;
      uint8_t *data = step.locate(lane, form.space, step.address(step.operand(0), lane), bytes,
                                  true, form.strong);
      if (data)
        std::memcpy(data, stored, bytes);
    });
  };
}

static uint64_t windowOf(Space space) {
  switch (space) {
  case Space::Shared:
    return sharedWindow;
  case Space::Local:
    return localWindow;
  case Space::Param:
    return paramWindow;
  case Space::Const:
    return constWindow;
  default:
    return 0;
  }
}

Action decodeCvta(Decoding &decoding) {
  bool to = decoding.take("to");
  uint64_t window = windowOf(decoding.takeSpace());
  decoding.takeType();
  decoding.expectOperands(2);
  return [=](Step &step) {
    step.each([&](int lane) {
      uint64_t address = step.read(step.operand(1), lane);
      if (to && window && address / windowBytes != window / windowBytes)
        return step.fail("the generic address " + std::to_string(address) + " is not of this space",
                         lane);
      step.write(step.operand(0), lane, to ? address - window : address + window);
    });
  };
}

/// A cluster is one block, whose rank is 0.
Action decodeMapa(Decoding &decoding) {
  decoding.takeSpace();
  decoding.takeType();
  decoding.expectOperands(3);
  return [](Step &step) {
    step.each([&](int lane) {
      if (step.read(step.operand(2), lane) != 0)
        return step.fail("the cluster has one block, of rank 0", lane);
      step.write(step.operand(0), lane, step.read(step.operand(1), lane));
    });
  };
}

Action decodePrefetch(Decoding &decoding) {
  decoding.takeSpace();
  decoding.ignore({"L1", "L2", "L2::evict_last", "L2::evict_normal", "L2::cache_hint", "tensormap",
                   "1d", "2d", "3d", "4d", "5d", "tile", "tensor"});
  return [](Step &) {};
}

} // namespace attn::ptx
