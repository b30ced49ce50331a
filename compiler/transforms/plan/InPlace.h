// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Results that take the place of an operand that nothing reads later. A linear's takes that of a
// capture, its residual: each element is read just before it is written. So a residual stream stays
// where it is, and in the caches, through a block, through a call of one (ModulePlan::inPlace), and
// through a stack of them.
#pragma once

#include "compiler/transforms/plan/Context.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace attn::planning {

/// Chooses the ops of a block, and of its loops, whose results may take an operand's place
/// (Places::inPlace).
void chooseInPlace(FunctionPlan &plan, Block &block);

/// Whether what a loop carries may stay in its place.
bool isInPlace(const Places &places, mlir::scf::ForOp loop, size_t carried);

/// Whether a map's result lies where its input does: of a cache, and on a GPU, of an argument of 16
/// bits that is multiplied as it is, and of what has been computed to the place of its rounded
/// result.
bool isInPlace(FunctionPlan &plan, MapOp op);

/// Notes for callers which results of the function may take the place of an argument.
void recordInPlace(FunctionPlan &plan, func::ReturnOp op);

/// The place that a tensor takes over, if it can.
std::optional<BufferView> inPlaceOf(FunctionPlan &plan, Value result);

} // namespace attn::planning
