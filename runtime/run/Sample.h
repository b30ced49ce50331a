// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How a token is chosen by the scores that all rules have left.
#pragma once

#include "attn/attn.h"

namespace attn {

/// The token that is chosen, by draw number `number` where it is drawn; scores change. -1: none is
/// a number that could be. The repetition of the sampling is not looked at.
int64_t drawToken(const attn_sampling &sampling, float *scores, int64_t count, int64_t number);

} // namespace attn
