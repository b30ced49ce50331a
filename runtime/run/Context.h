// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A context: what running a model needs besides the model, for one caller at a time.
#pragma once

#include "base/PageBlock.h"
#include "base/Team.h"
#include "cuda/Gpu.h"
#include "run/Cache.h"
#include "run/Model.h"
#include "run/Profile.h"

namespace attn {

/// A tensor that the context's entries take as the last call has set it.
struct StateMemory {
  PageBlock block;
  attn_tensor tensor = {}; ///< Of a size that a call has set, or of zeros that one has taken.
  bool isSet = false;
};

/// What a call is told of its rows (Rows.h): of each row in turn.
struct RowCalls {
  Vector<attn_abi_row> rows;
  Vector<int64_t> dims;  ///< As many as the model has.
  Vector<char *> caches; ///< As many as the model has.
  Vector<char> alone;    ///< What a thread alone remembers of the kernel.
  Vector<int64_t> load;  ///< Of each thread, what its rows read.
};

} // namespace attn

/// What attn.h calls a context: a team, a workspace that only grows, caches and states, perhaps a
/// GPU. Holds its model once, owns everything else.
struct attn_context {
  attn_model *model = nullptr;
  attn::Team team; ///< Starts with the context, of as many threads as it was asked for.
  attn::PageBlock workspace;
  /// Room for the pointers of the entry with most inputs or outputs.
  attn::Vector<void *> inputs, outputs;
  attn::Vector<attn::CacheMemory *> caches; ///< One per cache of the model.
  attn::Vector<char *> cacheBlocks;         ///< Where those of the entry that runs lie.
  attn::Vector<attn::StateMemory *> states; ///< One per state of the model.
  attn::Vector<attn_tensor> completed;      ///< Inputs with states that the caller has left out.
  attn::RowCalls rowCalls;                  ///< Of the entry that runs.
  attn::Profile profile{team};
  attn::Gpu *gpu = nullptr; ///< Null where entries run on the CPU.
  pid_t gpuProcess = 0;     ///< The process that put it there.

  ~attn_context();
};

namespace attn {

/// A cache of the context; null where there is none of that number.
inline CacheMemory *cacheOf(const attn_context &context, int32_t cache) {
  return cache < 0 || cache >= context.model->tables->cacheCount ? nullptr
                                                                 : context.caches[size_t(cache)];
}

/// Whether a cache lies in a GPU's memory as in the CPU's.
bool isSameEverywhere(const attn_abi_model &tables, const attn_abi_cache &cache);

/// Runs an entry on the context's GPU. Dims and buffers have been checked, and the indices that
/// are in memory of the host.
attn_status runOnGpu(attn_context &context, int32_t entry, const int64_t *dims,
                     const attn_tensor *inputs, const attn_tensor *outputs, Error &error);

} // namespace attn
