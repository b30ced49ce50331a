// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `slice`, `unpack` and `roll`: parts of an axis, and its elements moved along it.
#pragma once

#include "compiler/frontend/sema/Context.h"

namespace attn::frontend {

/// `slice(x, T from 1 to 5 as S)`: the elements 1 to 4 along T.
SemaValue callSlice(Sema &sema, const ast::CallExpr &call);

/// `unpack(x, D as A, B)`: a tensor for each part, one behind the other along D. One wrong value
/// stands for all.
std::vector<SemaValue> callUnpack(Sema &sema, const ast::CallExpr &call);

/// `roll(x, Y by s, X by t)`: what is at y, x comes to (y + s) % Y, (x + t) % X.
SemaValue callRoll(Sema &sema, const ast::CallExpr &call);

} // namespace attn::frontend
