// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Whether what chooses rows and elements lies within what it chooses from.
#pragma once

#include "compiler/frontend/sema/Context.h"

namespace attn::frontend {

/// Notes at the inputs of entries by which rows they choose how many there are (`attn.below`), and
/// reports positions and computed indices that may lie beyond.
void boundIndices(Sema &sema);

} // namespace attn::frontend
