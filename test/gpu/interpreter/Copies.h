// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What cp.async and bulk copies share.
#pragma once

#include "test/gpu/interpreter/Step.h"

namespace attn::ptx {

/// Counts one more copy in the thread's open group, by an actor called `what` in errors.
CopyGroups::Group &nextCopy(Step &step, int lane, CopyGroups &copies, const char *what);

/// Notes the shared bytes that a copy will read or write; false after a failure.
bool noteAccess(Step &step, int lane, const Author &author, uint32_t offset, uint32_t bytes,
                bool write);

/// Waits until all but `pending` groups are done, or have read their source.
void waitForGroups(Step &step, int lane, CopyGroups &copies, uint32_t pending, bool readOnly);

} // namespace attn::ptx
