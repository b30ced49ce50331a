// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the sizes of an entry's tensors to the sizes of the model's dims.
#include "run/Model.h"

using namespace attn;

namespace {
struct Resolver {
  const attn_abi_model &tables;
  const attn_abi_entry &entry;
  int64_t *dims;
  Error &error;
  /// Where a dynamic dim's size came from, for messages: null while it is not known.
  const char *sources[maxDims];

  attn_status bad(const char *code, const char *kind, const attn_abi_tensor &tensor, Text &what);
  attn_status checkType(const char *kind, const attn_abi_tensor &tensor, const attn_tensor &given);
  attn_status checkAxis(const char *kind, const attn_abi_tensor &tensor, int32_t index,
                        int64_t size);
  attn_status check(const char *kind, const attn_abi_tensor &tensor, const attn_tensor &given);
  attn_status checkCache(const attn_abi_cache_use &use, int64_t cached);
};
} // namespace

attn_status Resolver::bad(const char *code, const char *kind, const attn_abi_tensor &tensor,
                          Text &what) {
  return error.set(ATTN_BAD_INPUT, code, "%s `%s` of entry `%s` %s", kind, tensor.name, entry.name,
                   what.c_str());
}

attn_status Resolver::checkType(const char *kind, const attn_abi_tensor &tensor,
                                const attn_tensor &given) {
  Text what;
  if (given.dtype != tensor.dtype) {
    what.append("is %s, expected %s", attn_dtype_name(given.dtype), attn_dtype_name(tensor.dtype));
    return bad("R0201", kind, tensor, what);
  }
  if (given.rank == tensor.rank)
    return ATTN_OK;
  what.append("has %d axes, expected %d: [", int(given.rank), int(tensor.rank));
  for (int32_t a = 0; a < tensor.rank; ++a)
    what.append(a ? ", %s" : "%s", tensor.axes[a].name);
  what.append("]");
  return bad("R0202", kind, tensor, what);
}

attn_status Resolver::checkAxis(const char *kind, const attn_abi_tensor &tensor, int32_t index,
                                int64_t size) {
  const attn_abi_axis &axis = tensor.axes[index];
  Text what;
  what.append("has %lld along axis %d, `%s`, ", static_cast<long long>(size), int(index),
              axis.name);
  bool isDynamic = axis.dim >= 0 && tables.dims[axis.dim].isDynamic;
  if (!isDynamic) {
    int64_t expected = axisSize(axis, dims);
    if (size == expected)
      return ATTN_OK;
    what.append("expected %lld", static_cast<long long>(expected));
    return bad("R0203", kind, tensor, what);
  }
  const attn_abi_dim &dim = tables.dims[axis.dim];
  int64_t rest = 0, value = 0;
  bool isExact =
      !__builtin_sub_overflow(size, axis.offset, &rest) && axis.scale > 0 && rest % axis.scale == 0;
  value = isExact ? rest / axis.scale : 0;
  if (!isExact || value < 1 || value > dim.value) {
    long long least = axis.scale + axis.offset, most = axis.scale * dim.value + axis.offset;
    what.append("expected %lld to %lld", least, most);
    if (axis.scale > 1)
      what.append(" in steps of %lld", static_cast<long long>(axis.scale));
    bad("R0203", kind, tensor, what);
    error.note("`%s` is at most %lld", dim.name, static_cast<long long>(dim.value));
    return error.status;
  }
  if (!sources[axis.dim]) {
    sources[axis.dim] = tensor.name;
    dims[axis.dim] = value;
    return ATTN_OK;
  }
  if (dims[axis.dim] == value)
    return ATTN_OK;
  what.append("expected %lld", static_cast<long long>(axisSize(axis, dims)));
  bad("R0204", kind, tensor, what);
  error.note("`%s` is %lld by `%s`", dim.name, static_cast<long long>(dims[axis.dim]),
             sources[axis.dim]);
  return error.status;
}

attn_status Resolver::check(const char *kind, const attn_abi_tensor &tensor,
                            const attn_tensor &given) {
  if (attn_status status = checkType(kind, tensor, given))
    return status;
  for (int32_t a = 0; a < tensor.rank; ++a)
    if (attn_status status = checkAxis(kind, tensor, a, given.shape[a]))
      return status;
  return ATTN_OK;
}

const char *attn::entryThatFills(const attn_abi_model &tables, int32_t cache) {
  for (int32_t e = 0; e < tables.entryCount; ++e)
    for (int32_t c = 0; c < tables.entries[e].cacheCount; ++c) {
      const attn_abi_cache_use &use = tables.entries[e].caches[c];
      if (use.cache == cache && use.use == ATTN_CACHE_FILL && !tables.entries[e].unfold)
        return tables.entries[e].name;
    }
  return nullptr;
}

/// A cache's dim: what it holds, and what the call adds.
attn_status Resolver::checkCache(const attn_abi_cache_use &use, int64_t cached) {
  const attn_abi_cache &cache = tables.caches[use.cache];
  int64_t capacity = tables.dims[cache.dim].value, rows = axisSize(use.rows, dims);
  if (use.use == ATTN_CACHE_READ && cached == 0) {
    error.set(ATTN_BAD_INPUT, "R0210", "cache `%s`, which entry `%s` reads, is empty", cache.name,
              entry.name);
    if (const char *filling = entryThatFills(tables, use.cache))
      error.help("run entry `%s` first: it fills the cache", filling);
    return error.status;
  }
  if (use.use == ATTN_CACHE_FILL)
    cached = 0;
  if (rows > capacity - cached) {
    error.set(ATTN_BAD_INPUT, "R0207",
              "cache `%s` holds %lld of %lld positions, entry `%s` would add %lld", cache.name,
              static_cast<long long>(cached), static_cast<long long>(capacity), entry.name,
              static_cast<long long>(rows));
    error.help(use.use == ATTN_CACHE_FILL
                   ? "compile the model with a larger capacity"
                   : "empty it, or compile the model with a larger capacity");
    return error.status;
  }
  int64_t all = cached + rows;
  if (sources[cache.dim] && dims[cache.dim] != all) {
    error.set(ATTN_BAD_INPUT, "R0204",
              "input `%s` of entry `%s` is for %lld positions in cache `%s`, which would be %lld",
              sources[cache.dim], entry.name, static_cast<long long>(dims[cache.dim]), cache.name,
              static_cast<long long>(all));
    return error.status;
  }
  dims[cache.dim] = all;
  sources[cache.dim] = cache.name;
  return ATTN_OK;
}

attn_status attn::resolveDims(const attn_abi_model &tables, int32_t entryIndex,
                              const attn_tensor *inputs, const attn_tensor *outputs,
                              const int64_t *cached, int64_t rows, int64_t *dims, Error &error) {
  if (entryIndex < 0 || entryIndex >= tables.entryCount)
    return error.set(ATTN_INVALID_ARGUMENT, "R0102", "model `%s` has %d entries, there is no %d",
                     tables.name, int(tables.entryCount), int(entryIndex));
  const attn_abi_entry &entry = tables.entries[entryIndex];
  if ((!inputs && entry.inputCount > 0))
    return error.set(ATTN_INVALID_ARGUMENT, "R0101", "entry `%s`: the inputs are a null pointer",
                     entry.name);
  for (int32_t d = 0; d < tables.dimCount; ++d)
    dims[d] = tables.dims[d].value;
  Resolver resolver{tables, entry, dims, error, {}};
  if (entry.rows >= 0) {
    dims[entry.rows] = rows > 0 ? rows : 1;
    resolver.sources[entry.rows] = "rows";
  }
  for (int32_t i = 0; i < entry.inputCount; ++i) {
    if (entry.inputs[i].state && !inputs[i].data) // the others say how large it is
      continue;
    if (attn_status status = resolver.check("input", entry.inputs[i], inputs[i]))
      return status;
  }
  for (int32_t c = 0; rows == 0 && c < entry.cacheCount; ++c) {
    int64_t held = cached ? cached[entry.caches[c].cache] : 0;
    if (attn_status status = resolver.checkCache(entry.caches[c], held))
      return status;
  }
  for (int32_t i = 0; outputs && i < entry.outputCount; ++i)
    if (attn_status status = resolver.check("output", entry.outputs[i], outputs[i]))
      return status;
  return ATTN_OK;
}
