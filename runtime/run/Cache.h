// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a context keeps from call to call.
#ifndef ATTN_RUN_CACHE_H
#define ATTN_RUN_CACHE_H
#include "base/Vector.h"
#include "run/Model.h"

namespace attn {

/// One cache: its positions, and the sizes (of all dims) that its memory was laid out for.
struct CacheMemory {
  PageBlock block;
  int64_t length = 0;
  Vector<int64_t> dims;
};

/// Makes sure that the memory is there and laid out for `dims`, which are those of the call.
attn_status prepareCache(const attn_abi_model &tables, const attn_abi_cache &cache,
                         CacheMemory &memory, const int64_t *dims, Error &error);

/// For timing alone: a cache that has been used holds `length` positions, the same small number
/// everywhere.
void pretendCached(attn_context &context, int32_t cache, int64_t length);

} // namespace attn
#endif
