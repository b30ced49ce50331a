// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors as kernels read and write them: [rows..., columns], repeated along axes that they lack,
// or copied first where they lie otherwise. Errors are reported at `op`, in whose name kernels run.
#pragma once

#include "compiler/transforms/plan/Context.h"

namespace attn::planning {

/// A view's first `rowAxes` axes as rows, all others as one dim of columns, which lie one after the
/// other: an error where they do not.
FailureOr<Value> rowsAndColumns(FunctionPlan &plan, Operation *op, const BufferView &view,
                                int64_t rowAxes);

/// The same for an input of `op` of shape `type`, copied first where its columns do not lie one
/// after the other.
FailureOr<Value> readRows(FunctionPlan &plan, Operation *op, const BufferView &view,
                          RankedTensorType type, int64_t rowAxes);

/// A view of a tensor of type `from`, repeated along the axes of `to` that it lacks.
BufferView broadcast(const BufferView &view, Type from, Type to);

/// Where every axis is one run of memory and the last one lies element by element; a copy, where
/// it is not so.
FailureOr<BufferView> readDense(FunctionPlan &plan, Operation *op, Value tensor);

/// Copies element by element; `to` is one run of memory along its last axis.
LogicalResult copy(FunctionPlan &plan, Operation *op, BufferView from, BufferView to);

/// A pointer to a tensor that lies as functions take it: a copy, where it lies otherwise, which
/// stands for it from then on. So does a table of a GPU's, which only its kernels know the place
/// of.
FailureOr<Value> passed(FunctionPlan &plan, Operation *op, Value tensor);

} // namespace attn::planning
