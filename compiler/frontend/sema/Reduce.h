// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `sum`, `mean`, `max`, `min`, `argmax` and `softmax` of a tensor along axes.
#ifndef ATTN_COMPILER_FRONTEND_SEMA_REDUCE_H
#define ATTN_COMPILER_FRONTEND_SEMA_REDUCE_H

#include "compiler/frontend/sema/Context.h"

namespace attn::frontend {

/// `value` reduced along some of its axes; null and reported where that is beyond all bounds.
mlir::Value createReduce(Sema &sema, Reduction kind, mlir::Value value, llvm::ArrayRef<Axis> over,
                         mlir::Location loc);

/// `max(P, Q, x)` and its like.
SemaValue callReduce(Sema &sema, const ast::CallExpr &call, Reduction kind);

/// `softmax(V, x)`.
SemaValue callSoftmax(Sema &sema, const ast::CallExpr &call);

} // namespace attn::frontend

#endif // ATTN_COMPILER_FRONTEND_SEMA_REDUCE_H
