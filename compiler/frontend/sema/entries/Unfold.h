// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Entries that generate: `entry generate = unfold(prefill, decode, limit = 256, stop = 2)`.
#pragma once

#include "compiler/frontend/sema/Context.h"

namespace attn::frontend {

/// Builds an attn.unfold for each of the model's entries that are one, once the functions of the
/// others are there and the bounds of indices are known.
void buildUnfolds(Sema &sema);

} // namespace attn::frontend
