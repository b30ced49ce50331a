// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A multiprocessor of each compute capability, one row each, and what of a kernel fits into it.
#include "compiler/target/GpuOccupancy.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace attn;

namespace {

/// What a multiprocessor has, and in which pieces it is given away.
struct Multiprocessor {
  int32_t capability; ///< from this one on
  int64_t registers, registersOfWarp, warpsTogether;
  int64_t sharedBytes, sharedPiece, sharedReserved; ///< reserved for each block
  int64_t threads, blocks;
};

} // namespace

static constexpr int64_t warpSize = 32, kilobyte = 1024;

static constexpr Multiprocessor multiprocessors[] = {
    // capability, registers, of a warp, warps; shared memory, piece, reserved; threads, blocks
    {80, 65536, 256, 4, 164 * kilobyte, 128, kilobyte, 2048, 32},
    {90, 65536, 256, 4, 228 * kilobyte, 128, kilobyte, 2048, 32},
};

static const Multiprocessor &multiprocessorOf(const GpuTarget &target) {
  const Multiprocessor *found = std::begin(multiprocessors);
  for (const Multiprocessor &row : multiprocessors)
    if (row.capability <= target.capability)
      found = &row;
  return *found;
}

Occupancy Occupancy::of(const GpuTarget &target, const BlockNeeds &needs) {
  const Multiprocessor &own = multiprocessorOf(target);
  int64_t warps = llvm::divideCeil(needs.threads, warpSize);
  int64_t shared = llvm::alignTo(needs.sharedBytes + own.sharedReserved, own.sharedPiece);
  // The one that is named first is what limits where several do.
  Occupancy least{needs.launched, "as launched"};
  auto limit = [&](int64_t blocks, llvm::StringRef name) {
    if (blocks < least.blocks)
      least = {blocks, name};
  };
  if (needs.registers && *needs.registers > 0) {
    int64_t ofWarp = llvm::alignTo(*needs.registers * warpSize, own.registersOfWarp),
            fitting = own.registers / ofWarp / own.warpsTogether * own.warpsTogether;
    limit(fitting / warps, "registers");
  }
  limit(own.sharedBytes / shared, "shared memory");
  limit(own.threads / (warps * warpSize), "threads");
  limit(own.blocks, "blocks");
  return least;
}
