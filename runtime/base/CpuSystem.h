// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the system says of the CPUs that a process has: how much of them, and which are faster.
// Files of Linux' /proc and /sys are read below `root`, which tests put elsewhere.
#pragma once

#include "base/CpuMask.h"
#include "base/Vector.h"

namespace attn {

/// The CPUs that the groups of this process allow it the time of, rounded up: `cpu.max` of control
/// groups, or `cpu.cfs_quota_us` of their first version, of the process's group and of all around
/// it (cgroups(7)). INT32_MAX where none has a limit.
int32_t cpusOfQuota(const char *root = "");

/// The CPUs of a mask, performance cores before efficiency cores where the system tells them apart:
/// by `cpu_capacity`, or by Intel's list of Atom cores. False where memory is lacking.
bool fastestFirst(const CpuMask &mask, Vector<int32_t> &cpus, const char *root = "");

} // namespace attn
