// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `split`: patterns of axes.
#pragma once

#include "compiler/frontend/sema/Context.h"

namespace attn::frontend {

/// `split`: an attn.rearrange by a pattern such as "b (y p) d -> b y p d".
SemaValue callSplit(Sema &sema, const ast::CallExpr &call);

} // namespace attn::frontend
