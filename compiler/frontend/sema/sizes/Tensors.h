// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tensors: their types and places, and the ops that only move or rename axes.
#pragma once

#include "compiler/frontend/sema/Context.h"

namespace attn::frontend {

/// Fills the region of an attn.map: its result, of one element of each input.
using ScalarBody =
    llvm::function_ref<mlir::Value(mlir::OpBuilder &, mlir::Location, mlir::ValueRange)>;

/// A place of the spec as a location, under the name of what is built there.
mlir::Location locate(Sema &sema, SourceRange range);

/// A place of the spec as a location, under `name` where that is not empty.
mlir::Location locate(Sema &sema, SourceRange range, llvm::StringRef name);

/// An expression as the spec has it, on one line, a static argument as it was given; shortened
/// where it is long.
std::string wordsOf(Sema &sema, const ast::Expr &expr);

/// A side of an operator: what is more than a name or a number is `...`.
std::string sideWords(Sema &sema, const ast::Expr &side);

/// The bound of a dim that is known only when running; nothing where there is none.
std::optional<int64_t> boundOfDim(Sema &sema, llvm::StringRef name);

/// The size of an axis, or the most that it may be.
int64_t boundOf(Sema &sema, const Axis &axis);

/// The type of a tensor; null and reported where it is beyond all reason large.
mlir::RankedTensorType tensorType(Sema &sema, llvm::ArrayRef<Axis> axes, SourceRange range,
                                  mlir::Type element = {});

/// `value` with its axes in another order: its axis `order[i]` at `i`.
mlir::Value permute(Sema &sema, mlir::Value value, llvm::ArrayRef<int64_t> order,
                    mlir::Location loc);

/// `value` under other names of its axes.
mlir::Value relabel(Sema &sema, mlir::Value value, llvm::ArrayRef<Axis> axes, mlir::Location loc);

/// `value` with an axis of size 1 in front.
mlir::Value withUnitInFront(Sema &sema, mlir::Value value, llvm::StringRef name,
                            mlir::Location loc);

/// `value` with `taken` as its last axes, in that order; null and reported where it lacks one.
mlir::Value withLast(Sema &sema, mlir::Value value, llvm::ArrayRef<Axis> taken, mlir::Location loc);

/// An attn.map of `inputs`, whose region `body` fills, with these axes and elements, f32 where
/// nothing is said.
mlir::Value makeMap(Sema &sema, llvm::ArrayRef<mlir::Value> inputs, llvm::ArrayRef<Axis> axes,
                    mlir::Location loc, ScalarBody body, mlir::Type element = {});

} // namespace attn::frontend
