// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `resize`: features at another height and width.
#pragma once

#include "compiler/frontend/sema/Context.h"

namespace attn::frontend {

/// `resize`: a picture of features at another size.
SemaValue callResize(Sema &sema, const ast::CallExpr &call);

} // namespace attn::frontend
