// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// One instruction, executed by some lanes of a warp: how its action reads and writes registers and
// memory, waits and fails.
#pragma once

#include "test/gpu/interpreter/Layout.h"
#include "test/gpu/interpreter/Machine.h"

namespace attn::ptx {

struct Step {
  Machine &machine;
  Block &block;
  Warp &warp;
  const Instruction &instruction;
  /// Who came, and whose guard holds.
  uint32_t arrived;
  uint32_t lanes;
  /// Where lane goes next unless the action says otherwise.
  uint32_t next;
  /// All lanes go on at `next`, and no lane of the warp begins or ends to wait.
  bool isStraight = true;

  bool active(int lane) const { return lanes >> lane & 1; }
  int firstLane() const { return __builtin_ctz(lanes); }
  Thread &thread(int lane) const { return warp.thread(lane); }
  const Operand &operand(size_t i) const { return instruction.operands[i]; }

  /// For each active lane in turn, until a failure.
  template <typename Body> void each(Body body) {
    for (int lane = 0; lane < warpSize; ++lane)
      if (active(lane) && !machine.failed())
        body(lane);
  }

  uint64_t read(const Operand &operand, int lane) {
    if (operand.kind != Operand::Kind::Register)
      return readOther(operand, lane);
    if (machine.usesProducts)
      touch(operand.reg, lane, "reads");
    return warp.registers[size_t(operand.reg) * warpSize + lane] ^ uint64_t(operand.negated);
  }
  void write(const Operand &operand, int lane, uint64_t value) {
    if (operand.kind != Operand::Kind::Register)
      return writeOther(operand);
    if (machine.usesProducts)
      touch(operand.reg, lane, "writes");
    warp.registers[size_t(operand.reg) * warpSize + lane] = value;
  }
  /// An address operand's base and offset.
  uint64_t address(const Operand &operand, int lane);

  /// Notes the error for the instruction's line and, where one is given, the lane's thread.
  void fail(const std::string &message, int lane = -1);

  /// The memory at an address of a space; null after a failure. Checks bounds and alignment (of
  /// `bytes`, unless `alignment` is given), and for shared memory, races.
  uint8_t *locate(int lane, Space space, uint64_t address, uint32_t bytes, bool write,
                  bool atomic = false, uint32_t alignment = 0);
  /// A shared address given in the shared space or the generic one, as an offset; checked.
  uint32_t sharedOffset(int lane, uint64_t address, uint32_t bytes, uint32_t alignment);
  Author author(int lane, bool atomic = false);

  /// Makes the lane wait and try the instruction again when `ready` says so.
  void retryWhen(int lane, std::function<bool()> ready, std::function<std::string()> waitingFor);
  void jump(int lane, uint32_t pc) {
    isStraight = false;
    thread(lane).pc = pc;
  }

private:
  uint64_t readOther(const Operand &operand, int lane);
  void writeOther(const Operand &operand);
  /// Notes that an instruction other than a `wgmma` uses a register.
  void touch(uint32_t reg, int lane, const char *verb);
};

} // namespace attn::ptx
