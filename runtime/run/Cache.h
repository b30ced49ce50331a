// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a context keeps from call to call.
#pragma once

#include "base/Vector.h"
#include "run/Model.h"

namespace attn {

/// One cache: its positions, and the sizes (of all dims) that its memory was laid out for.
struct CacheMemory {
  PageBlock block;
  int64_t length = 0;
  Vector<int64_t> dims;
};

/// Makes sure that memory of an entry's caches is there and laid out for `dims`, which are those of
/// the call. What is to be filled anew is empty then; nothing else changes.
attn_status prepareCaches(attn_context &context, const attn_abi_entry &entry, const int64_t *dims,
                          Error &error);

/// Memory for what an empty cache is to hold, laid out for `dims`.
attn_status layOutCache(const attn_abi_model &tables, const attn_abi_cache &cache,
                        CacheMemory &memory, const int64_t *dims, Error &error);

/// The first `length` positions that cache `number` of the model has in one memory become what it
/// has in another; its dims but for the positions are the same where both hold some.
attn_status copyCache(const attn_abi_model &tables, int32_t number, CacheMemory &to,
                      const CacheMemory &from, int64_t length, Error &error);

/// Bytes of the pages that `length` positions of cache `number` lie in at most, for one of `rows`,
/// a dim.
int64_t rowBytes(const attn_abi_model &tables, int32_t number, int32_t rows, int64_t length);

/// After a call with these dims: its caches hold what they say.
void countCached(attn_context &context, const attn_abi_entry &entry, const int64_t *dims);

/// For timing alone: a cache that has been used holds `length` positions, the same small number
/// everywhere.
void pretendCached(attn_context &context, int32_t cache, int64_t length);

/// For timing alone: the caches that an entry reads are as full as can be, for these inputs.
attn_status pretendFilled(attn_context &context, int32_t entry, const attn_tensor *inputs,
                          Error &error);

} // namespace attn
