// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ops of a recurrence that is one kernel (ScanOps.td).
#pragma once

#include "dialect/AttnDialect.h"

#define GET_OP_CLASSES
#include "dialect/ScanOps.h.inc"

namespace attn {

/// How many columns of a recurrence's states a thread takes through all steps at a time, at most,
/// whatever vectors it has.
constexpr int64_t mostScanColumns = 64;

/// The same where vectors have so many lanes: those whose sums registers hold.
constexpr int64_t scanColumns(int64_t lanes) {
  return 4 * lanes < mostScanColumns ? 4 * lanes : mostScanColumns;
}

} // namespace attn
