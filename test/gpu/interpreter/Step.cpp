// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/gpu/interpreter/Step.h"

namespace attn::ptx {

static uint64_t readSpecial(const Step &step, Special special, int lane) {
  const Machine &machine = step.machine;
  uint32_t thread = step.warp.firstThread + lane;
  switch (special) {
  case Special::TidX:
    return thread % machine.block.x;
  case Special::TidY:
    return thread / machine.block.x % machine.block.y;
  case Special::TidZ:
    return thread / machine.block.x / machine.block.y;
  case Special::NtidX:
    return machine.block.x;
  case Special::NtidY:
    return machine.block.y;
  case Special::NtidZ:
    return machine.block.z;
  case Special::CtaidX:
    return step.block.index.x;
  case Special::CtaidY:
    return step.block.index.y;
  case Special::CtaidZ:
    return step.block.index.z;
  case Special::NctaidX:
    return machine.grid.x;
  case Special::NctaidY:
    return machine.grid.y;
  case Special::NctaidZ:
    return machine.grid.z;
  case Special::LaneId:
    return lane;
  case Special::WarpId:
    return step.warp.index;
  case Special::NWarpId:
    return step.block.warps.size();
  case Special::LanemaskEq:
    return 1u << lane;
  case Special::LanemaskLt:
    return (1u << lane) - 1;
  case Special::LanemaskLe:
    return uint32_t((2ull << lane) - 1);
  case Special::LanemaskGt:
    return ~uint32_t((2ull << lane) - 1);
  case Special::LanemaskGe:
    return ~((1u << lane) - 1);
  case Special::SmId:
    return step.block.number;
  case Special::NSmId:
    return machine.grid.count();
  case Special::One:
    return 1;
  case Special::Zero:
    return 0;
  case Special::Clock:
    return machine.steps;
  case Special::GlobalTimer:
    return machine.nanoseconds();
  case Special::DynamicSharedBytes:
    return machine.dynamicSharedBytes;
  case Special::TotalSharedBytes:
    return step.block.shared.size();
  }
  return 0;
}

uint64_t Step::readOther(const Operand &operand, int lane) {
  switch (operand.kind) {
  case Operand::Kind::Immediate:
    return operand.value;
  case Operand::Kind::Special:
    return readSpecial(*this, operand.special, lane);
  default:
    fail("operand is not a value");
    return 0;
  }
}

void Step::writeOther(const Operand &operand) {
  if (operand.kind != Operand::Kind::Sink)
    fail("operand is not a register");
}

void Step::touch(uint32_t reg, int lane, const char *verb) {
  Products &products = warp.products;
  if (products.writers[reg] || products.readers[reg])
    fail(std::string(verb) + " a register of a wgmma that no wgmma.wait_group has waited for",
         lane);
  products.touched[reg] = products.fences + 1;
}

uint64_t Step::address(const Operand &operand, int lane) {
  if (operand.kind != Operand::Kind::Address)
    return read(operand, lane);
  return read(operand.parts[0], lane) + operand.value;
}

void Step::fail(const std::string &message, int lane) {
  std::string text =
      "line " + std::to_string(instruction.line) + ": " + instruction.name + ": " + message;
  if (lane >= 0)
    text += " (" + block.threadName(warp.firstThread + lane) + " of " + block.name() + ")";
  machine.fail(text);
}

Author Step::author(int lane, bool atomic) {
  const Witness &witness = thread(lane).witness;
  return {&witness, witness.actor, witness.clock, instruction.line, false, atomic};
}

/// The space whose window holds a generic address, which becomes the space's own.
static Space spaceOf(uint64_t &address) {
  static constexpr Space spaces[] = {Space::Global, Space::Shared, Space::Local,
                                     Space::Param,  Space::Const,  Space::Global};
  uint64_t window = address / windowBytes;
  if (window >= 5 || window == 0)
    return Space::Global;
  address %= windowBytes;
  return spaces[window];
}

static bool inside(uint64_t address, uint32_t bytes, uint64_t size) {
  return address <= size && bytes <= size - address;
}

uint32_t Step::sharedOffset(int lane, uint64_t address, uint32_t bytes, uint32_t alignment) {
  address = address / windowBytes * windowBytes == sharedWindow ? address - sharedWindow : address;
  if (address < sharedBegin || !inside(address, bytes, block.shared.size())) {
    fail("out of bounds: " + std::to_string(bytes) + " bytes at " + std::to_string(address) +
             " of shared memory, which ends at " + std::to_string(block.shared.size()),
         lane);
    return sharedBegin;
  }
  if (address % alignment)
    fail("shared address " + std::to_string(address) + " is not a multiple of " +
             std::to_string(alignment),
         lane);
  return uint32_t(address);
}

uint8_t *Step::locate(int lane, Space space, uint64_t address, uint32_t bytes, bool write,
                      bool atomic, uint32_t alignment) {
  alignment = alignment ? alignment : bytes;
  if (space == Space::Generic)
    space = spaceOf(address);
  if (address % alignment) {
    fail("address " + std::to_string(address) + " is not a multiple of " +
             std::to_string(alignment),
         lane);
    return nullptr;
  }
  if (space == Space::Shared) {
    uint32_t offset = sharedOffset(lane, address, bytes, alignment);
    if (machine.failed())
      return nullptr;
    std::string error = write ? block.hazards->write(author(lane, atomic), offset, bytes)
                              : block.hazards->read(author(lane, atomic), offset, bytes);
    if (!error.empty()) {
      fail(error, lane);
      return nullptr;
    }
    return block.shared.data() + offset;
  }
  if (space == Space::Global && address / windowBytes != moduleWindow / windowBytes) {
    std::string error;
    uint8_t *data = machine.device.resolve(address, bytes, write, error);
    if (!data)
      fail(error, lane);
    return data;
  }
  std::vector<uint8_t> &memory = space == Space::Global  ? machine.globals
                                 : space == Space::Local ? thread(lane).local
                                 : space == Space::Param ? machine.parameters
                                                         : machine.constants;
  uint64_t offset = space == Space::Global ? address - moduleWindow : address;
  const char *name = space == Space::Global  ? "the module's variables"
                     : space == Space::Local ? "local memory"
                     : space == Space::Param ? "the parameters"
                                             : "constant memory";
  if (!inside(offset, bytes, memory.size())) {
    fail("out of bounds: " + std::to_string(bytes) + " bytes at " + std::to_string(offset) +
             " of " + name + ", " + std::to_string(memory.size()) + " bytes",
         lane);
    return nullptr;
  }
  if (write && (space == Space::Param || space == Space::Const)) {
    fail(std::string("writes ") + name, lane);
    return nullptr;
  }
  return memory.data() + offset;
}

void Step::retryWhen(int lane, std::function<bool()> ready,
                     std::function<std::string()> waitingFor) {
  Thread &waiter = thread(lane);
  isStraight = false;
  waiter.state = Thread::State::Waiting;
  waiter.ready = std::move(ready);
  waiter.waitingFor = std::move(waitingFor);
  waiter.line = instruction.line;
  waiter.pc = next - 1;
}

} // namespace attn::ptx
