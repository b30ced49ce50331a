// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether elements of strided tensors share memory.
#pragma once

#include "attn/attn.h"

namespace attn {

/// Bytes from the first element to the lowest one (0 or below) and behind the highest one. False
/// where they are too many to count, or leave the address space.
bool reachOf(const attn_tensor &tensor, int64_t &lowest, int64_t &end);

/// Whether a byte of `a` may be one of `b`. Exact for all but tensors with many axes that cross
/// each other; these may overlap. Both reaches can be counted.
bool mayOverlap(const attn_tensor &a, const attn_tensor &b);

/// Whether two elements of a tensor may be in one place: each axis has to step over all of the
/// shorter ones.
bool mayOverlapItself(const attn_tensor &tensor);

} // namespace attn
