// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The part of a job that a process does, of several that share it.
#pragma once

#include "base/Error.h"

namespace attn {

/// Shard `number`, from 1 on, of `count`.
struct Shard {
  int64_t number = 1, count = 1;

  /// The first of `lines` lines that is this shard's; the next shard's first is its end. Shards
  /// are the same number of lines, but for one.
  int64_t begin(int64_t lines) const { return lines * (number - 1) / count; }
  int64_t end(int64_t lines) const { return lines * number / count; }
};

/// Reads "3/16"; "auto", what the environment of a cluster's job says; or "auto/16", where that has
/// no number of shards.
attn_status readShard(const char *text, Shard &shard, Error &error);

} // namespace attn
