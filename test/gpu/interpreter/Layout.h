// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where things lie. Every state space has a window of generic addresses; the shared, local, param
// and const spaces' own addresses are offsets in their windows, global ones are generic ones.
#pragma once

#include <cstdint>

namespace attn::ptx {

constexpr uint64_t windowBytes = 1ull << 32;
constexpr uint64_t sharedWindow = 1 * windowBytes;
constexpr uint64_t localWindow = 2 * windowBytes;
constexpr uint64_t paramWindow = 3 * windowBytes;
constexpr uint64_t constWindow = 4 * windowBytes;
/// Variables of the module in the global space.
constexpr uint64_t moduleWindow = 5 * windowBytes;
/// Buffers of the host, see Device.h.
constexpr uint64_t bufferWindow = 16 * windowBytes;

/// Shared memory below this is the system's, as on sm_90, so that no variable lies at 0.
constexpr uint32_t sharedBegin = 1024;
/// What one block may have on sm_90, and more than any has registers.
constexpr uint32_t sharedLimit = 227 * 1024;
constexpr uint32_t registersPerMultiprocessor = 65536;

/// `offset` to the next multiple of `alignment`.
constexpr uint32_t alignTo(uint32_t offset, uint32_t alignment) {
  return (offset + alignment - 1) / alignment * alignment;
}

/// The next offset that has this alignment and no greater one, so that code which relies on more
/// than it asked for is found out.
constexpr uint32_t alignExactly(uint32_t offset, uint32_t alignment) {
  uint32_t aligned = alignTo(offset, alignment);
  return aligned % (2 * alignment) ? aligned : aligned + alignment;
}

} // namespace attn::ptx
