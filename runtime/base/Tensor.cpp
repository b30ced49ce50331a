// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bytes of tensors, and strides that are those of a dense one.
#include "base/Tensor.h"

using namespace attn;

uint64_t attn::byteSize(const attn_tensor &tensor) {
  uint64_t elements = 1;
  for (int32_t a = 0; a < tensor.rank; ++a)
    elements *= uint64_t(tensor.shape[a]);
  return elements * attn_dtype_size(tensor.dtype);
}

bool attn::isDense(const attn_tensor &tensor) {
  int64_t stride = 1;
  for (int32_t a = tensor.rank; tensor.strides && a-- > 0; stride *= tensor.shape[a])
    if (tensor.shape[a] != 1 && tensor.strides[a] != stride)
      return false;
  return true;
}
