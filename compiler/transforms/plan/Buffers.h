// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Room in the frame for tensors and for what threads work in, and what kernels see of memory.
#pragma once

#include "compiler/transforms/plan/Context.h"

namespace attn::planning {

/// A new buffer for a tensor, free again after `last`. `element`: another than the type's, where it
/// is stored narrower.
BufferView allocate(FunctionPlan &plan, RankedTensorType type, Operation *last, Type element = {});

/// A new buffer whose rows, of the last `contract` dims each, are `pitch` elements apart, with room
/// for `spareRows` more behind the last.
BufferView pitchedRows(FunctionPlan &plan, RankedTensorType type, int64_t contract, int64_t pitch,
                       int64_t spareRows, Type element, Operation *last);

/// A row of `columns` for each thread to work in until `op` has run; behind them `shared` more.
/// `element`: another than f32.
Value threadRows(FunctionPlan &plan, Operation *op, int64_t columns, int64_t shared = 0,
                 Type element = {});

/// How a tensor that a function takes or returns lies at `pointer`.
BufferView laidOut(FunctionPlan &plan, Type type, Value pointer);

/// Where a parameter's slot is, of a layer where it belongs to a stack.
Value pointerTo(FunctionPlan &plan, SlotOp slot, Value layer, Type element);

/// Where a tensor lies that has been computed, or a parameter.
BufferView viewOf(FunctionPlan &plan, Value tensor);

/// The memref of `atoms`, a dim each, from where a view begins.
Value memrefOf(FunctionPlan &plan, const BufferView &view, ArrayRef<Atom> atoms);

} // namespace attn::planning
