// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Indices into tables of a model, looked at before anything is computed.
#include "base/Dtype.h"
#include "run/Model.h"

using namespace attn;

template <typename Int> static int64_t findBeyond(const void *data, int64_t count, int64_t below) {
  const Int *values = static_cast<const Int *>(data);
  for (int64_t i = 0; i < count; ++i)
    if (uint64_t(int64_t(values[i])) >= uint64_t(below))
      return i;
  return -1;
}

static attn_status reportBeyond(const attn_abi_entry &entry, const attn_abi_tensor &tensor,
                                const attn_tensor &given, int64_t index, Error &error) {
  long long value = given.dtype == ATTN_I32 ? static_cast<const int32_t *>(given.data)[index]
                                            : static_cast<const int64_t *>(given.data)[index];
  int64_t place[ATTN_MAX_RANK] = {};
  for (int32_t a = given.rank; a-- > 0;) {
    place[a] = index % given.shape[a];
    index /= given.shape[a];
  }
  Text where;
  where.appendShape(place, given.rank);
  return error.set(ATTN_BAD_INPUT, "R0206",
                   "input `%s` of entry `%s` holds %lld at %s, expected 0 to %lld", tensor.name,
                   entry.name, value, where.c_str(), static_cast<long long>(tensor.below - 1));
}

attn_status attn::checkIndices(const attn_abi_entry &entry, int32_t input, const attn_tensor &given,
                               Error &error) {
  const attn_abi_tensor &tensor = entry.inputs[input];
  int64_t count = 0;
  if (tensor.below <= 0 || !countElements(given.shape, given.rank, count))
    return ATTN_OK;
  int64_t beyond = given.dtype == ATTN_I32 ? findBeyond<int32_t>(given.data, count, tensor.below)
                                           : findBeyond<int64_t>(given.data, count, tensor.below);
  return beyond < 0 ? ATTN_OK : reportBeyond(entry, tensor, given, beyond, error);
}
