// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The elements of an input's file as elements of the type that an entry takes.
#pragma once

#include "attn/attn.h"

namespace attn {

/// Whether elements of one type may become elements of another: floats of any width floats, and
/// integers integers.
bool isConvertible(int32_t from, int32_t to);

/// Copies the elements of `from` into `to`, whose memory is there and whose dtype is the same or
/// one that they may become. False where an integer does not fit, which is `misfit` then.
bool convertElements(const attn_tensor &from, attn_tensor &to, int64_t &misfit);

} // namespace attn
