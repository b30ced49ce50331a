// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Time that passes.
#pragma once

namespace attn {

/// The second that a clock shows which no one sets (CLOCK_MONOTONIC).
double secondsNow();

} // namespace attn
