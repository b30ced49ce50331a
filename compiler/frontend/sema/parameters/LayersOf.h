// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which layers of a stack have a parameter, or keys and values of their own.
#pragma once

#include "compiler/frontend/sema/Context.h"

namespace attn::frontend {

/// Lets parameters and caches be of the layers alone that read them: a part or a map with a
/// condition on the layer is there in some. Reports parameters of one name, or bound to one tensor,
/// that the same layer reads. All functions are built before.
void keepLayersThatRead(Sema &sema);

} // namespace attn::frontend
