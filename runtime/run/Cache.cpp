// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The caches of a context, and what the C API says about them.
#include "run/RunEntry.h"
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

/// Whether what a cache holds was laid out for the sizes of the call.
static attn_status checkLayout(const attn_abi_model &tables, const attn_abi_cache_use &use,
                               const CacheMemory &memory, const int64_t *dims, Error &error) {
  const attn_abi_cache &cache = tables.caches[use.cache];
  for (int32_t s = 0; memory.length > 0 && s < cache.stateCount; ++s) {
    const attn_abi_tensor &tensor = cache.states[s].tensor;
    for (int32_t a = 0; a < tensor.rank; ++a) {
      int32_t dim = tensor.axes[a].dim;
      if (dim < 0 || dim == cache.dim || dims[dim] == memory.dims[size_t(dim)])
        continue;
      bool isRead = use.use == ATTN_CACHE_READ;
      error.set(ATTN_BAD_INPUT, isRead ? "R0211" : "R0208",
                "cache `%s` was filled with `%s` = %lld, but it is %lld now", cache.name,
                tables.dims[dim].name, static_cast<long long>(memory.dims[size_t(dim)]),
                static_cast<long long>(dims[dim]));
      if (const char *filling = isRead ? entryThatFills(tables, use.cache) : nullptr)
        error.help("fill it again by entry `%s`, or use another context", filling);
      else
        error.help("empty it first (attn_cache_truncate to 0), or use another context");
      return error.status;
    }
  }
  return ATTN_OK;
}

// Each head of a layer has a stretch of its own, as long as the capacity: with large pages, the
// first position would make most of it resident.
attn_status attn::layOutCache(const attn_abi_model &tables, const attn_abi_cache &cache,
                              CacheMemory &memory, const int64_t *dims, Error &error) {
  int64_t bytes = bytesOf(tables, cache, dims);
  bool isThere = bytes >= 0 && uint64_t(bytes) <= memory.block.size();
  if (!memory.dims.resize(size_t(tables.dimCount)) ||
      (!isThere && (bytes < 0 || !memory.block.allocate(uint64_t(bytes), PageBlock::Pages::Small))))
    return error.set(ATTN_OUT_OF_MEMORY, "R0401", "no memory for cache `%s` of %lld bytes",
                     cache.name, static_cast<long long>(bytes));
  memcpy(memory.dims.data(), dims, sizeof(int64_t) * size_t(tables.dimCount));
  return ATTN_OK;
}

attn_status attn::prepareCaches(attn_context &context, const attn_abi_entry &entry,
                                const int64_t *dims, Error &error) {
  const attn_abi_model &tables = *context.model->tables;
  for (int32_t c = 0; c < entry.cacheCount; ++c) {
    const attn_abi_cache_use &use = entry.caches[c];
    bool isKept = use.use != ATTN_CACHE_FILL;
    const CacheMemory &memory = *context.caches[size_t(use.cache)];
    if (attn_status status = isKept ? checkLayout(tables, use, memory, dims, error) : ATTN_OK)
      return status;
  }
  for (int32_t c = 0; c < entry.cacheCount; ++c) {
    const attn_abi_cache_use &use = entry.caches[c];
    CacheMemory &memory = *context.caches[size_t(use.cache)];
    if (use.use == ATTN_CACHE_FILL)
      memory.length = 0;
    if (memory.length == 0)
      if (attn_status status = layOutCache(tables, tables.caches[use.cache], memory, dims, error))
        return status;
    context.cacheBlocks[size_t(use.cache)] = memory.block.data();
  }
  return ATTN_OK;
}

void attn::countCached(attn_context &context, const attn_abi_entry &entry, const int64_t *dims) {
  const attn_abi_model &tables = *context.model->tables;
  for (int32_t c = 0; c < entry.cacheCount; ++c) {
    int32_t cache = entry.caches[c].cache;
    context.caches[size_t(cache)]->length = dims[tables.caches[cache].dim];
  }
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

attn_status attn::pretendFilled(attn_context &context, int32_t number, const attn_tensor *inputs,
                                Error &error) {
  const attn_abi_model &tables = *context.model->tables;
  const attn_abi_entry &entry = tables.entries[number];
  auto forThoseRead = [&](auto &&act) {
    for (int32_t c = 0; !error.status && c < entry.cacheCount; ++c)
      if (entry.caches[c].use == ATTN_CACHE_READ)
        act(tables.caches[entry.caches[c].cache], *context.caches[size_t(entry.caches[c].cache)]);
  };
  forThoseRead([&](const attn_abi_cache &cache, CacheMemory &memory) {
    memory.length = tables.dims[cache.dim].value;
  });
  int64_t dims[maxDims]; // which follow the lengths
  if (resolveCall(context, number, inputs, nullptr, dims, error) == ATTN_OK)
    forThoseRead([&](const attn_abi_cache &cache, CacheMemory &memory) {
      layOutCache(tables, cache, memory, dims, error);
    });
  return error.status;
}
