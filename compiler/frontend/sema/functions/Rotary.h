// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `rotary`: embeddings of positions by rotation.
#pragma once

#include "compiler/frontend/sema/Context.h"

namespace attn::frontend {

/// `rotary`: pairs of features turned by angles that grow with the position.
SemaValue callRotary(Sema &sema, const ast::CallExpr &call);

} // namespace attn::frontend
