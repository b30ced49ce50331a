// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tensor in memory: a pointer, and for every axis the atoms (size, stride) that make it up.
// Slices, splits, transpositions and broadcasts are views; only merging axes that do not lie one
// after the other leaves several atoms for an axis.
#pragma once

#include "compiler/transforms/SizePolynomial.h"
#include "dialect/AttnDialect.h"

namespace attn {

/// A run of `size` elements that lie `stride` elements apart.
struct Atom {
  SizePolynomial size, stride; ///< in elements
};

/// Where a tensor lies.
struct BufferView {
  mlir::Value base; ///< memref<f32>, a bare pointer; or of other elements
  SizePolynomial offset;
  llvm::SmallVector<llvm::SmallVector<Atom, 2>> axes; ///< outermost first

  /// The type of its elements in memory.
  mlir::Type element() const;

  /// A dense row-major view of `type`'s shape on `base`; rows are `pitch` elements apart where it
  /// is not 0.
  static BufferView dense(mlir::RankedTensorType type, mlir::Value base, int64_t pitch = 0);

  /// The view of what attn.slice takes; `drop` leaves the axis out.
  BufferView slice(int64_t axis, int64_t offset, int64_t size, bool drop) const;
  /// Elements [offset, offset + size) of an axis that is one run of memory.
  BufferView window(int64_t axis, const SizePolynomial &offset, const SizePolynomial &size) const;
  /// The view of what attn.windows gives, of axes that each are one run of memory.
  BufferView windows(WindowsOp op) const;
  /// The view of what attn.rearrange gives.
  BufferView rearrange(RearrangeOp op) const;

  /// Whether elements are where those of a view of the same type are, on its base.
  bool liesLike(const BufferView &other) const;

  /// The atoms of axes [begin, end) in order, neighbours merged where they lie one after the other.
  llvm::SmallVector<Atom> collapsed(int64_t begin, int64_t end) const;
};

/// A size as a polynomial: static, or read from the axis' name.
SizePolynomial sizeOf(mlir::RankedTensorType type, int64_t axis);

/// What elements are in memory: a truth value is a byte, a bf16 its 16 bits (x86 has no vectors of
/// bf16 before AVX512-BF16, and LLVM would go through calls).
mlir::Type storedElement(mlir::Type element);

/// The number of elements.
SizePolynomial elementsOf(mlir::RankedTensorType type);

/// Merges neighbouring atoms that lie one after the other.
llvm::SmallVector<Atom> collapse(llvm::ArrayRef<Atom> atoms);

/// An axis of one element where there are no atoms.
llvm::SmallVector<Atom> atLeastOne(llvm::SmallVector<Atom> atoms);

} // namespace attn
