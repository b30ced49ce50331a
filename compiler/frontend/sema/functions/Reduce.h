// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `sum`, `mean`, `max`, `min`, `argmax`, `softmax` and `topk` of a tensor along axes.
#pragma once

#include "compiler/frontend/sema/Context.h"

namespace attn::frontend {

/// `value` reduced along some of its axes; null and reported where that is beyond all bounds.
mlir::Value createReduce(Sema &sema, Reduction kind, mlir::Value value, llvm::ArrayRef<Axis> over,
                         mlir::Location loc);

/// `max(P, Q, x)` and its like.
SemaValue callReduce(Sema &sema, const ast::CallExpr &call, Reduction kind);

/// `softmax(V, x)`.
SemaValue callSoftmax(Sema &sema, const ast::CallExpr &call);

/// `topk(V, x, K)`: the K largest elements along V, the largest first, then their places. One wrong
/// value stands for both.
std::vector<SemaValue> callTopk(Sema &sema, const ast::CallExpr &call);

} // namespace attn::frontend
