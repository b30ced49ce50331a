// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where results lie: in a place that is given, as a part of a concat, in an operand's place
// (InPlace.h), or else in a buffer of their own, until their last reader has run.
#pragma once

#include "compiler/transforms/plan/Context.h"

namespace attn::planning {

/// Chooses the tensors of a block that are computed straight into concats or within borders
/// (Places::partOf).
void chooseParts(Places &places, Block &block);

/// Lets a tensor be computed straight to `place`, if it can.
void chooseDestination(FunctionPlan &plan, Value tensor, const BufferView &place);

/// Copies a tensor to `place`, unless it has been computed there.
LogicalResult deliver(FunctionPlan &plan, Operation *op, Value tensor, const BufferView &place);

/// Of a concat's result, what its part at `position` is.
BufferView partOfConcat(ConcatOp concat, size_t position, const BufferView &whole);

/// Where a tensor that a kernel is about to compute shall lie.
BufferView outputOf(FunctionPlan &plan, Value tensor);

/// The last op of `block` that reads what a tensor lies in, through views and what takes its place.
Operation *lastUse(const Places &places, Value root, Block *block);

} // namespace attn::planning
