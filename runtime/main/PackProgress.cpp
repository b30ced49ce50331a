// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Counts of packed elements to a line on stderr.
#include "main/PackProgress.h"

using namespace attn;

/// The one of this command; null: nothing is shown.
static PackProgress *current = nullptr;

PackProgress::PackProgress(const attn_abi_model &tables) {
  for (int32_t s = 0; s < tables.slotCount; ++s)
    for (int32_t p = 0; p < tables.slots[s].partCount; ++p)
      all += double(tables.slots[s].parts[p].count) * double(tables.slots[s].k) *
             double(tables.slots[s].layers);
  megabytes = double(tables.packedBytes) / 1e6;
  current = line.isWanted() && all > 0 ? this : nullptr;
}

PackProgress::~PackProgress() { current = nullptr; }

void PackProgress::note(int64_t elements, int64_t thread) {
  int64_t now = done.fetch_add(elements, std::memory_order_relaxed) + elements;
  if (thread == 0 && line.isDue())
    line.show("packing weights, %.0f of %.0f MB", double(now) / all * megabytes, megabytes);
}

extern "C" void attn_main_note_packed(int64_t elements, int64_t thread) {
  if (current)
    current->note(elements, thread);
}
