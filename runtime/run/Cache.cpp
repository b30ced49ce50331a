// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The caches of a context, and what the C API says about them.
#include "run/Context.h"
#include <cstring>

using namespace attn;

/// Bytes of all states; -1 where they are too many to count.
static int64_t bytesOf(const attn_abi_model &tables, const attn_abi_cache &cache,
                       const int64_t *dims) {
  int64_t bytes = 0;
  for (int32_t s = 0; s < cache.stateCount; ++s) {
    const attn_abi_tensor &tensor = cache.states[s].tensor;
    int64_t own = int64_t(attn_dtype_size(tensor.dtype)) * cache.states[s].layers;
    for (int32_t a = 0; a < tensor.rank; ++a) {
      const attn_abi_axis &axis = tensor.axes[a];
      int64_t size = axis.dim == cache.dim ? tables.dims[cache.dim].value : axisSize(axis, dims);
      if (__builtin_mul_overflow(own, size, &own))
        return -1;
    }
    if (__builtin_add_overflow(bytes, own, &bytes))
      return -1;
  }
  return bytes;
}

attn_status attn::prepareCache(const attn_abi_model &tables, const attn_abi_cache &cache,
                               CacheMemory &memory, const int64_t *dims, Error &error) {
  for (int32_t s = 0; memory.length > 0 && s < cache.stateCount; ++s) {
    const attn_abi_tensor &tensor = cache.states[s].tensor;
    for (int32_t a = 0; a < tensor.rank; ++a) {
      int32_t dim = tensor.axes[a].dim;
      if (dim < 0 || dim == cache.dim || dims[dim] == memory.dims[size_t(dim)])
        continue;
      error.set(ATTN_BAD_INPUT, "R0208",
                "cache `%s` was filled with `%s` = %lld, but it is %lld now", cache.name,
                tables.dims[dim].name, static_cast<long long>(memory.dims[size_t(dim)]),
                static_cast<long long>(dims[dim]));
      error.help("empty it first (attn_cache_truncate to 0), or use another context");
      return error.status;
    }
  }
  if (memory.length > 0)
    return ATTN_OK;
  int64_t bytes = bytesOf(tables, cache, dims);
  bool isThere = bytes >= 0 && uint64_t(bytes) <= memory.block.size();
  if (!memory.dims.resize(size_t(tables.dimCount)) ||
      (!isThere && (bytes < 0 || !memory.block.allocate(uint64_t(bytes)))))
    return error.set(ATTN_OUT_OF_MEMORY, "R0401", "no memory for cache `%s` of %lld bytes",
                     cache.name, static_cast<long long>(bytes));
  memcpy(memory.dims.data(), dims, sizeof(int64_t) * size_t(tables.dimCount));
  return ATTN_OK;
}

extern "C" int32_t attn_model_cache_count(const attn_model *model) {
  return model ? model->tables->cacheCount : 0;
}

extern "C" attn_status attn_model_cache(const attn_model *model, int32_t cache,
                                        attn_cache_info *info) {
  if (!model || !info || cache < 0 || cache >= model->tables->cacheCount)
    return ATTN_NOT_FOUND;
  const attn_abi_cache &found = model->tables->caches[cache];
  *info = {found.name, model->tables->dims[found.dim].value};
  return ATTN_OK;
}

extern "C" int64_t attn_cache_length(const attn_context *context, int32_t cache) {
  const CacheMemory *memory = context ? cacheOf(*context, cache) : nullptr;
  return memory ? memory->length : -1;
}

extern "C" attn_status attn_cache_truncate(attn_context *context, int32_t cache, int64_t length,
                                           char **message) {
  Error error;
  CacheMemory *memory = context ? cacheOf(*context, cache) : nullptr;
  if (!memory)
    error.set(ATTN_INVALID_ARGUMENT, "R0101", "attn_cache_truncate: %s",
              context ? "there is no such cache" : "null pointer");
  else if (length < 0 || length > memory->length)
    error.set(ATTN_INVALID_ARGUMENT, "R0101",
              "attn_cache_truncate: %lld positions, but the cache holds %lld",
              static_cast<long long>(length), static_cast<long long>(memory->length));
  else
    memory->length = length;
  return error.report(message);
}

void attn::pretendCached(attn_context &context, int32_t cache, int64_t length) {
  CacheMemory &memory = *context.caches[size_t(cache)];
  // Pages that nobody has written would all be one page of zeros.
  if (context.gpu)
    context.gpu->fillCache(cache, 0x3c);
  else
    memset(memory.block.data(), 0x3c, memory.block.size());
  memory.length = length;
}
