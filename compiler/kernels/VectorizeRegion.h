// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Scalar regions at vector width: epilogues, maps, biases, masks.
#pragma once

#include "dialect/Locations.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Region.h"

namespace attn {

/// Emits the ops of a region of one block at the builder's insertion point, each on vectors of
/// `lanes` elements, and returns what its attn.yield gives as one. `arguments` are vectors or
/// scalars; scalars, also those from outside the region, are repeated in all lanes, and what
/// depends on nothing else is computed once. Indices become i32, elements of i64 and what is
/// computed of them i64. Null after an error has been reported, for an op that has no vector form.
/// Elements that are `read` already have their vector from there.
mlir::Value vectorizeRegion(mlir::OpBuilder &builder, mlir::Region &region,
                            mlir::ValueRange arguments, int64_t lanes,
                            const llvm::DenseMap<mlir::Operation *, mlir::Value> &read =
                                llvm::DenseMap<mlir::Operation *, mlir::Value>());

/// Clones a hook of an attention to the insertion point; its value. It has arguments of its `own`,
/// then `positions` (if it takes any) and `captures`. Locations say the term, where there is one.
mlir::Value inlineHook(mlir::OpBuilder &builder, mlir::Region &hook, mlir::ValueRange own,
                       mlir::ValueRange positions, mlir::ValueRange captures,
                       std::optional<AttentionTerm> term = std::nullopt);

/// A vector of `lanes` elements: `value` itself if it is one, else repeated.
mlir::Value splat(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value value, int64_t lanes);

/// The element of a buffer at positions, each an index or a vector of 32-bit numbers: as a region
/// has it (f32, index or i1), or a vector of them (of f32, i32, i64 or i1).
mlir::Value loadElement(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value buffer,
                        mlir::ValueRange positions, int64_t lanes);

} // namespace attn
