// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a mask says of a tile of pairs, by interval arithmetic: the tile is empty, full or partial.
#pragma once

#include "mlir/IR/Builders.h"
#include "mlir/IR/Region.h"

namespace attn {

/// A number between two others, both included; null where nothing is known. Of truth values, `lo`
/// is whether it holds for all pairs, `hi` whether it may hold for one.
struct Interval {
  mlir::Value lo, hi;
};

/// Emits scalar code at the builder's insertion point that bounds the value of a mask (positions:
/// index...) -> i1, given bounds of its positions: constants where those are constants. The bounds
/// hold, but need not be reached: what it does not know how to bound may be either.
Interval boundMask(mlir::OpBuilder &builder, mlir::Location loc, mlir::Region &mask,
                   llvm::ArrayRef<Interval> positions, mlir::ValueRange captures);

/// Whether pairs are live, by bounds that are known when compiling.
enum class LivePairs { None, Perhaps, All };

/// What the bounds of a mask say of the pairs at some positions; nothing where they are no
/// constants. Its code at the builder's insertion point is for nothing else.
std::optional<LivePairs> judgePairs(mlir::OpBuilder &builder, mlir::Location loc,
                                    mlir::Region &mask, llvm::ArrayRef<Interval> positions,
                                    mlir::ValueRange captures);

/// n of a mask that asks for floor(position / n) of one of its arguments, if that is one number:
/// the mask may change at multiples of it.
std::optional<int64_t> maskPeriod(mlir::Region &mask, unsigned position);

} // namespace attn
