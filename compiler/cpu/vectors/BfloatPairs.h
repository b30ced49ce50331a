// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Vectors of words that hold two bf16 each: an even one in the lower half, an odd one in the upper.
#pragma once

#include "compiler/target/CpuTarget.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"

namespace attn {

/// Builds at the insertion point. Words come as vectors of any element that are as many bits; those
/// that are given back are of type f32, whatever they hold.
class BfloatPairs {
public:
  BfloatPairs(mlir::OpBuilder &builder, mlir::Location loc, const CpuTarget &target)
      : builder(builder), loc(loc), target(target),
        floats(mlir::VectorType::get({target.lanes}, builder.getF32Type())) {}

  /// The bits of a vector rounded to bf16, as i16. Denormals may become 0.
  mlir::Value bits(mlir::Value vector) const;
  /// Word i holds even[i] and odd[i], rounded to the nearest even. Denormals may become 0.
  mlir::Value words(mlir::Value even, mlir::Value odd) const;
  /// The same of what is never NaN where it matters, halves away from zero on CPUs with tile
  /// registers: additions, of which those do two a cycle beside products, for a conversion that
  /// holds up the one unit left for multiplications.
  mlir::Value wordsOfFinite(mlir::Value even, mlir::Value odd) const;
  /// The words of neighbours in `first`, then of those in `second`.
  mlir::Value neighbours(mlir::Value first, mlir::Value second) const;
  /// What is in the words, in f32.
  mlir::Value even(mlir::Value words) const;
  mlir::Value odd(mlir::Value words) const;
  /// sum + even(a) * even(b) + odd(a) * odd(b), by the instruction for it. Where
  /// that takes a word of a register for all lanes, it does so of `a`.
  mlir::Value multiplyAdd(mlir::Value a, mlir::Value b, mlir::Value sum) const;

private:
  /// The same bits as `lanes` elements of another type.
  mlir::Value bitcast(mlir::Value vector, int64_t lanes, mlir::Type element) const;
  /// [first..., second...] in bf16.
  mlir::Value rounded(mlir::Value first, mlir::Value second) const;

  mlir::OpBuilder &builder;
  mlir::Location loc;
  const CpuTarget &target;
  mlir::VectorType floats;
};

} // namespace attn
