// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Op by op: what each op on tensors becomes. A view of its operand, a kernel on buffers with a
// barrier behind it, or both; its results' places are known afterwards (Places::views). Errors are
// reported at the op. A new op has one function here, and one line in Function.cpp.
#pragma once

#include "compiler/transforms/plan/Context.h"
#include "dialect/Caches.h"
#include "dialect/Choices.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace attn::planning {

/// Plan products (Linear.cpp, Attention.cpp).
LogicalResult emit(FunctionPlan &plan, LinearOp op);
LogicalResult emit(FunctionPlan &plan, AttentionOp op);

/// Plan what works on rows (Rows.cpp, Norm.cpp, Map.cpp, Reduce.cpp).
LogicalResult emit(FunctionPlan &plan, NormOp op);
LogicalResult emit(FunctionPlan &plan, LookupOp op);
LogicalResult emit(FunctionPlan &plan, MapOp op);
LogicalResult emit(FunctionPlan &plan, PickOp op);
LogicalResult emit(FunctionPlan &plan, ReduceOp op);
LogicalResult emit(FunctionPlan &plan, RotaryOp op);
LogicalResult emit(FunctionPlan &plan, SoftmaxOp op);
LogicalResult emit(FunctionPlan &plan, TopkOp op);

/// Plan what moves no element by itself (Views.cpp, Pad.cpp).
LogicalResult emit(FunctionPlan &plan, ConcatOp op);
LogicalResult emit(FunctionPlan &plan, PadOp op);
LogicalResult emit(FunctionPlan &plan, TableOp op);
/// A relabelling, a slice, a rearrangement or windows.
LogicalResult emitView(FunctionPlan &plan, Operation *op);

/// Plans what a cache gets, and what is read of it (Cache.cpp).
LogicalResult emit(FunctionPlan &plan, PushOp op);
LogicalResult emit(FunctionPlan &plan, KeptOp op);

/// Plans experts, each of its rows (Route.cpp).
LogicalResult emit(FunctionPlan &plan, RouteOp op);

/// Plans a recurrence (Scan.cpp).
LogicalResult emit(FunctionPlan &plan, ScanOp op);

/// Plan calls of blocks, and stacks of them (Calls.cpp).
LogicalResult emit(FunctionPlan &plan, func::CallOp op);
LogicalResult emit(FunctionPlan &plan, mlir::scf::ForOp op);

/// Plans a function of each row (ByRow.cpp).
LogicalResult emit(FunctionPlan &plan, ByRowOp op);

} // namespace attn::planning
