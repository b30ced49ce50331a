// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elements of a file, one by one, to the type that an entry takes.
#include "main/ConvertInput.h"
#include "base/Dtype.h"
#include "main/RandomInputs.h"
#include <cstring>

using namespace attn;

static bool isInteger(int32_t dtype) { return dtype == ATTN_I32 || dtype == ATTN_I64; }

bool attn::isConvertible(int32_t from, int32_t to) {
  return (isFloat(from) && isFloat(to)) || (isInteger(from) && isInteger(to));
}

bool attn::convertElements(const attn_tensor &from, attn_tensor &to, int64_t &misfit) {
  int64_t elements = 0;
  countElements(to.shape, to.rank, elements);
  if (from.dtype == to.dtype) {
    if (elements > 0)
      memcpy(to.data, from.data, size_t(elements) * attn_dtype_size(from.dtype));
    return true;
  }
  for (int64_t i = 0; i < elements; ++i) {
    if (isFloat(to.dtype)) {
      storeFloat(loadFloat(from.data, from.dtype, i), to.dtype, to.data, i);
    } else if (to.dtype == ATTN_I64) {
      int32_t narrow;
      memcpy(&narrow, static_cast<const char *>(from.data) + 4 * i, 4);
      static_cast<int64_t *>(to.data)[i] = narrow;
    } else {
      int64_t wide;
      memcpy(&wide, static_cast<const char *>(from.data) + 8 * i, 8);
      misfit = wide;
      if (wide != int32_t(wide))
        return false;
      static_cast<int32_t *>(to.data)[i] = int32_t(wide);
    }
  }
  return true;
}
