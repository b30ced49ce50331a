// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tensors of the checkpoint that a spec names, as they are written in it.
#pragma once

#include "Place.h"

namespace attn::lsp {

/// The names that may stand in quotes at a place, sorted: of a layer without `.weight` and
/// `.bias`, in a block without what stands before the number of a layer. None where the spec has no
/// line `weights`, or its checkpoint cannot be read.
std::vector<std::string> tensorsFor(const Document &document, const Place &place);

} // namespace attn::lsp
