// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Dense tensors of doubles, and strided walks over them.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/SmallVector.h"
#include <vector>

namespace attn::reference {

/// A dense, row-major tensor; integers and booleans are held as doubles too.
struct Tensor {
  llvm::SmallVector<int64_t> shape;
  std::vector<double> data;
};

/// The product of sizes; 1 for none.
int64_t countOf(llvm::ArrayRef<int64_t> sizes);

/// A tensor of zeros.
Tensor zeros(llvm::ArrayRef<int64_t> shape);

/// The distance of neighbours along each axis of a dense row-major shape.
llvm::SmallVector<int64_t> denseStrides(llvm::ArrayRef<int64_t> shape);

/// The offset of the element at `index`: sum of index[d] * strides[d].
int64_t offsetAt(llvm::ArrayRef<int64_t> index, llvm::ArrayRef<int64_t> strides);

/// Calls `visit` with every index of `shape`, the last axis fastest; once with no index for a
/// scalar.
void forEachIndex(llvm::ArrayRef<int64_t> shape,
                  llvm::function_ref<void(llvm::ArrayRef<int64_t>)> visit);

/// to[sum(i * toStrides)] = from[sum(i * fromStrides)] for every index i of `shape`.
void copyStrided(llvm::ArrayRef<int64_t> shape, const double *from,
                 llvm::ArrayRef<int64_t> fromStrides, double *to,
                 llvm::ArrayRef<int64_t> toStrides);

/// The inner product of two rows of `count` elements.
double dot(const double *a, const double *b, int64_t count);

} // namespace attn::reference
