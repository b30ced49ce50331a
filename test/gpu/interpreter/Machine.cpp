// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/gpu/interpreter/Machine.h"
#include "test/gpu/interpreter/Layout.h"
#include <algorithm>

namespace attn::ptx {

CopyGroups::Group *CopyGroups::numbered(uint32_t number) {
  return number < dropped ? nullptr : &groups[number - dropped];
}

bool CopyGroups::settled(uint32_t pending, bool readOnly) const {
  for (size_t i = 0; i + 1 + pending < groups.size(); ++i)
    if (groups[i].toRead || (!readOnly && groups[i].toFinish))
      return false;
  return true;
}

uint32_t CopyGroups::settle(uint32_t pending, bool readOnly) {
  uint32_t last = 0;
  for (size_t i = 0; i + 1 + pending < groups.size(); ++i) {
    groups[i].owed = false;
    last = std::max(last, groups[i].lastClock);
  }
  while (!readOnly && groups.size() > 1 + pending) {
    groups.pop_front();
    ++dropped;
  }
  return last;
}

bool CopyGroups::owed() const {
  for (const Group &group : groups)
    if (group.owed)
      return true;
  return false;
}

Thread &Warp::thread(int lane) const { return block->threads[firstThread + lane]; }

void Mbarrier::settle() {
  if (pending != 0 || bytes != 0)
    return;
  ++phase;
  pending = count;
  completed = gathering.snapshot();
  teaching = std::make_shared<Teaching>(completed);
}

static std::string triple(const Dim &dim) {
  return "(" + std::to_string(dim.x) + ", " + std::to_string(dim.y) + ", " + std::to_string(dim.z) +
         ")";
}

std::string Block::threadName(uint32_t thread) const {
  const Dim &size = machine->block;
  return "thread " + triple({thread % size.x, thread / size.x % size.y, thread / size.x / size.y});
}

std::string Block::name() const { return "block " + triple(index); }

void Machine::fail(const std::string &message) {
  if (error.empty())
    error = message;
}

void Machine::startBlock() {
  auto started = std::make_unique<Block>();
  Block &state = *started;
  state.machine = this;
  state.number = this->started++;
  state.index = {state.number % grid.x, state.number / grid.x % grid.y,
                 state.number / grid.x / grid.y};
  uint32_t count = block.count();
  state.alive = count;
  state.shared.resize(kernel.dynamicSharedBegin + dynamicSharedBytes, 0xcc);
  state.hazards = std::make_unique<Hazards>(state.shared.size());
  state.threads.resize(count);
  for (uint32_t i = 0; i < count; ++i) {
    Thread &thread = state.threads[i];
    thread.index = i;
    thread.witness.actor = state.hazards->addActor(state.threadName(i));
    thread.local.resize(kernel.localBytes, 0xcc);
  }
  uint32_t warps = (count + warpSize - 1) / warpSize;
  uint32_t perThread = registersPerMultiprocessor / (warps * warpSize) / 8 * 8;
  perThread = std::min(perThread, 255u / 8 * 8);
  state.freeRegisters = registersPerMultiprocessor - int64_t(perThread) * warps * warpSize;
  state.productOrder.resize((warps + 3) / 4);
  state.warps.resize(warps);
  for (uint32_t w = 0; w < warps; ++w) {
    Warp &warp = state.warps[w];
    uint32_t lanes = std::min<uint32_t>(count - w * warpSize, warpSize);
    warp.block = &state;
    warp.index = w;
    warp.firstThread = w * warpSize;
    warp.lanes = uint32_t((1ull << lanes) - 1);
    // Registers begin with what happened to be there.
    warp.registers.resize(size_t(kernel.registers) * warpSize, 0xcdcdcdcdcdcdcdcd);
    warp.products.writers.resize(kernel.registers);
    warp.products.readers.resize(kernel.registers);
    warp.products.touched.resize(kernel.registers);
    warp.products.widths.resize(kernel.registers);
    warp.products.widthFences.resize(kernel.registers);
    warp.registerCount = perThread;
  }
  resident.push_back(std::move(started));
}

} // namespace attn::ptx
