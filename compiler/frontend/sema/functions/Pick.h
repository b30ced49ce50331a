// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `pick` and means of what is kept: elements that are chosen by integers and truth values.
#pragma once

#include "compiler/frontend/sema/Context.h"

namespace attn::frontend {

/// `pick(x, T at index)`: along T, the elements at an index.
SemaValue callPick(Sema &sema, const ast::CallExpr &call);

/// `mean(T, x where keep)`: the mean over the elements that a tensor of truth values keeps, 0 where
/// it keeps none.
SemaValue callMeanWhere(Sema &sema, const ast::CallExpr &call);

} // namespace attn::frontend
