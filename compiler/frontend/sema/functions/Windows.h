// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `pad` and `windows`: borders, and overlapping pieces of axes.
#pragma once

#include "compiler/frontend/sema/Context.h"

namespace attn::frontend {

/// `pad(x, T = S by 1, 2, value = -inf)`.
SemaValue callPad(Sema &sema, const ast::CallExpr &call);

/// `windows(x, Y = Y2 by 2 as P, X = X2 by 2 as Q, pad = 1)`.
SemaValue callWindows(Sema &sema, const ast::CallExpr &call);

/// Gives the tensors of the checkpoint that linears of windows are bound to an axis for each that
/// these take, `[out, in, k]`, as convolutions have them.
void bindConvolutions(mlir::ModuleOp module);

} // namespace attn::frontend
