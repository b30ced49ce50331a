// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Strided walks over dense tensors.
#include "compiler/reference/Tensor.h"

using namespace llvm;
using namespace attn::reference;

int64_t attn::reference::countOf(ArrayRef<int64_t> sizes) {
  int64_t count = 1;
  for (int64_t size : sizes)
    count *= size;
  return count;
}

Tensor attn::reference::zeros(ArrayRef<int64_t> shape) {
  return {SmallVector<int64_t>(shape), std::vector<double>(countOf(shape), 0.0)};
}

SmallVector<int64_t> attn::reference::denseStrides(ArrayRef<int64_t> shape) {
  SmallVector<int64_t> strides(shape.size(), 1);
  for (size_t d = shape.size(); d > 1; --d)
    strides[d - 2] = strides[d - 1] * shape[d - 1];
  return strides;
}

int64_t attn::reference::offsetAt(ArrayRef<int64_t> index, ArrayRef<int64_t> strides) {
  int64_t offset = 0;
  for (size_t d = 0; d < index.size(); ++d)
    offset += index[d] * strides[d];
  return offset;
}

void attn::reference::forEachIndex(ArrayRef<int64_t> shape,
                                   llvm::function_ref<void(ArrayRef<int64_t>)> visit) {
  SmallVector<int64_t> index(shape.size(), 0);
  for (int64_t left = countOf(shape); left > 0; --left) {
    visit(index);
    for (size_t d = shape.size(); d > 0 && ++index[d - 1] == shape[d - 1]; --d)
      index[d - 1] = 0;
  }
}

void attn::reference::copyStrided(ArrayRef<int64_t> shape, const double *from,
                                  ArrayRef<int64_t> fromStrides, double *to,
                                  ArrayRef<int64_t> toStrides) {
  if (shape.empty()) {
    *to = *from;
    return;
  }
  for (int64_t i = 0; i < shape.front(); ++i)
    copyStrided(shape.drop_front(), from + i * fromStrides.front(), fromStrides.drop_front(),
                to + i * toStrides.front(), toStrides.drop_front());
}

double attn::reference::dot(const double *a, const double *b, int64_t count) {
  // Eight running sums, so that the compiler may keep them in vector registers.
  constexpr int64_t lanes = 8;
  double sums[lanes] = {};
  int64_t i = 0;
  for (; i + lanes <= count; i += lanes)
    for (int64_t lane = 0; lane < lanes; ++lane)
      sums[lane] += a[i + lane] * b[i + lane];
  double sum = 0;
  for (; i < count; ++i)
    sum += a[i] * b[i];
  for (double lane : sums)
    sum += lane;
  return sum;
}
