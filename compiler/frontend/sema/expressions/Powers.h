// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `x ** n` of tensors.
#pragma once

#include "compiler/frontend/sema/Context.h"

namespace attn::frontend {

/// A power of f32: a tensor to a number, of which multiples of 0.5 from -64 to 64 have a meaning,
/// or a number more than 0 to a tensor.
SemaValue powerOfTensors(Sema &sema, const ast::BinaryExpr &binary, const SemaValue &base,
                         const SemaValue &exponent);

} // namespace attn::frontend
