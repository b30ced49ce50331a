// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which bytes the buffers of kernels consist of, and whether they have some in common.
#pragma once

#include "compiler/transforms/BufferView.h"
#include "llvm/ADT/DenseMap.h"

namespace attn {

/// The bytes that a buffer consists of: those of each element, `atoms` apart, from `offset` on in
/// the memory of `root`.
struct Footprint {
  mlir::Value root;
  SizePolynomial shift; ///< Of the pointer in that memory, where the planner has put it.
  SizePolynomial offset;
  llvm::SmallVector<Atom> atoms; ///< in bytes
  int64_t element = 1;

  bool operator==(const Footprint &other) const;
  /// Whether they are known to be different memory: other slots, or other arguments of a function.
  bool isElsewhere(const Footprint &other) const {
    return root != other.root || !(shift == other.shift);
  }
};

/// Reads footprints from the ops that make up a buffer's address.
class Footprints {
public:
  /// The footprint of a memref.
  Footprint of(mlir::Value buffer);
  /// Takes a value for this size from now on, that of a loop's index in one of its turns.
  void set(mlir::Value value, const SizePolynomial &size) { known[value] = size; }
  /// A size as a sum of products of what is none.
  SizePolynomial sizeOf(mlir::Value value);

private:
  /// The same of a size of a buffer.
  SizePolynomial sizeOf(mlir::OpFoldResult size);

  llvm::DenseMap<mlir::Value, size_t> numbers; ///< Of what is no sum or product.
  llvm::DenseMap<mlir::Value, SizePolynomial> known;
};

/// Whether two footprints in one memory have no byte in common: one lies behind the other, or
/// beside it in each of the rows that are `pitch` bytes apart. False where that is not seen.
bool areDisjoint(const Footprint &a, const Footprint &b);

} // namespace attn
