// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What planning asks of tensors and ops alone, before anything has its place: what is a view, who
// reads a tensor, which maps only convert.
#pragma once

#include "compiler/transforms/BufferView.h"
#include "dialect/AttnDialect.h"

namespace attn::planning {

using mlir::ArrayRef, mlir::Block, mlir::DenseMap, mlir::FailureOr, mlir::FloatAttr,
    mlir::IRMapping, mlir::Location, mlir::LogicalResult, mlir::ModuleOp, mlir::OpBuilder,
    mlir::Operation, mlir::OpOperand, mlir::RankedTensorType, mlir::SmallVector, mlir::StringRef,
    mlir::Type, mlir::Value;

/// The type of a tensor, which has #attn.axes.
inline RankedTensorType typeOf(Value tensor) {
  return llvm::cast<RankedTensorType>(tensor.getType());
}

/// Row pitch of a buffer in elements, 0 for dense: rows that are a multiple of 4 KB apart would
/// fall into the same cache sets.
int64_t pitchOf(RankedTensorType type);

/// Whether an op's result is a view of its first operand, whatever this is.
bool isView(Operation *op);

/// Whether a linear reads windows of more than one element, which overlap in memory.
bool isOfWindows(LinearOp op);

/// Whether `isReader` holds for all that reads a tensor, or a view of it.
bool isReadOnlyBy(Value tensor, llvm::function_ref<bool(OpOperand &)> isReader);

/// Whether all that reads a tensor, or a view of it, are attentions, as keys or values.
bool isOnlyAttendedTo(Value tensor);

/// Whether a map's function is nothing but a conversion from `half`, or to it.
bool converts(MapOp op, Type half);

/// Whether a map is nothing, since what reads its result converts it: of what is pushed to a cache,
/// and of keys and values there.
bool isOfCache(MapOp op);

/// Whether an op, or null, becomes a kernel that computes its results to wherever they shall lie.
bool isKernel(Operation *op);

} // namespace attn::planning
