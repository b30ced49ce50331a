// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Slices move up, above ops whose other rows nobody reads:
//   slice(layernorm(x))     ->  layernorm(slice(x))
//   slice(map(x, y))        ->  map(slice(x), slice(y))
//   slice(linear(x, W))     ->  linear(slice(x), W)               a lifted axis
//   slice(attention(q,k,v)) ->  attention(slice(q), k, v)         an axis of queries
//   slice(relabel(x))       ->  relabel(slice(x))
// and parts that a concat puts together anew, above norms and maps:
//   roll(norm(x))           ->  concat(norm(slice(x)), norm(slice(x)))
#pragma once

#include "dialect/AttnDialect.h"
#include "mlir/IR/PatternMatch.h"

namespace attn {

/// Adds the patterns that move slices up, for all ops that slices can pass.
void populateSliceHoisting(mlir::RewritePatternSet &patterns);

/// A map with the body of `map` over other inputs.
MapOp cloneMap(mlir::OpBuilder &builder, MapOp map, mlir::Type result, mlir::ValueRange inputs);

} // namespace attn
