// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a spec may cost, whatever is written in it.
#pragma once

#include "compiler/frontend/sema/Context.h"

namespace attn::frontend {

/// Counts expressions and declarations, those of a block each time that it is built. False where
/// there are too many; the first time, that is reported.
bool spend(Sema &sema, size_t count, SourceRange range);

/// False, and reported, where a tensor would have too many axes.
bool checkRank(Reporter &report, size_t count, SourceRange range);

/// False, and reported, where a signature names too many tensors.
bool checkLength(Reporter &report, const ast::Signature &signature);

/// False, and reported, where a call of an entry would never end.
bool checkOperations(Sema &sema, mlir::func::FuncOp entry, SourceRange place);

} // namespace attn::frontend
