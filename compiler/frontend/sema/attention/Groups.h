// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Heads in groups: queries of several heads that share a key and a value.
#pragma once

#include "compiler/frontend/sema/Context.h"
#include "compiler/frontend/sema/attention/Attention.h"

namespace attn::frontend {

/// Splits the axis of the query's heads where keys and values have fewer; false after an error.
bool groupHeads(Sema &sema, const ast::AttendExpr &attend, AttendOperands &operands);

/// The output of an attention whose heads were grouped, with one axis for all heads.
mlir::Value mergeHeads(Sema &sema, mlir::Value value, const AttendOperands &operands,
                       SourceRange range);

} // namespace attn::frontend
