// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What asynchronous copies do with mbarrier objects.
#pragma once

#include "test/gpu/interpreter/Step.h"

namespace attn::ptx {

/// The mbarrier at a shared address; null after a failure. The access is noted, and races with its
/// initialisation.
Mbarrier *findMbarrier(Step &step, int lane, uint64_t address);

/// The accesses of an asynchronous operation are done: `bytes` have arrived, as complete_tx says,
/// or `arrivals` come with it. Returns what is wrong, or "".
std::string complete(Block &block, uint32_t offset, uint32_t bytes, uint32_t arrivals,
                     uint32_t actor, uint32_t clock);

} // namespace attn::ptx
