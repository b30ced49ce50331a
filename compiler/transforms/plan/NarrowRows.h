// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The rows of a linear's input as its products read them: in bf16, in halves, or as bytes.
#pragma once

#include "compiler/transforms/plan/Context.h"

namespace attn::planning {

/// The rows of a linear's input in bf16, or as bytes with the scale and zero of each: with all of
/// their padding, and as the products read them.
struct NarrowRows {
  Value padded, elements; ///< [rows, columns] of i16, the bits of bf16, or of i8.
  Value range;            ///< [rows, 2] of f32; null of bf16.
};

/// Room for rows of the bits of bf16, of the last `contract` dims each, as linears read them.
BufferView roundedRows(FunctionPlan &plan, RankedTensorType type, int64_t contract,
                       Operation *last);

/// Rounds or quantises the rows of a linear's `input`.
FailureOr<NarrowRows> narrow(FunctionPlan &plan, LinearOp op, const BufferView &input,
                             Precision precision);

/// Of a linear with a norm, the bytes of normed rows.
FailureOr<NarrowRows> normedBytes(FunctionPlan &plan, LinearOp op, Precision precision);

/// Whether a view is rows of `half` as GPUs read them, with one stride from each to the next.
bool hasHalfRows(const BufferView &view, int64_t rowAxes, Type half);

/// The rows of a linear's input in halves, for GPUs.
FailureOr<Value> halfRows(FunctionPlan &plan, LinearOp op, const BufferView &input);

} // namespace attn::planning
