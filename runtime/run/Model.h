// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A model, and what is known about the sizes of its tensors.
#pragma once

#include "attn/abi.h"
#include "base/Error.h"
#include "base/PageBlock.h"
#include "base/Vector.h"
#include "cuda/SharedWeights.h"
#include <atomic>

/// What attn.h calls a model: the tables, the level chosen, the packed weights.
struct attn_model {
  const attn_abi_model *tables;
  const attn_abi_level *level;
  /// The tables with `slots`, whose panels are as the level has them: what weights are packed by.
  attn_abi_model packing;
  attn::Vector<attn_abi_slot> slots;
  /// The caller's hold and one per context.
  std::atomic<int32_t> holders{1};
  int32_t threads = 1;
  bool pinsThreads = false; ///< those of contexts
  attn::PageBlock block;
  /// The block, or weights embedded in the artifact; null before any are bound.
  const char *weights = nullptr;
  uint32_t bindings = 0; ///< How often weights were bound: copies of earlier ones are stale.
  std::atomic<uint64_t> weightsHash{0}; ///< 0: not computed yet.
  attn::SharedWeights onDevices;
};

namespace attn {

/// Sets `dims` (one per dim of the model) from the inputs' sizes, checking dtype, rank and size of
/// every input. Dims that no input tells are taken from `outputs` where not null, else they are at
/// their bound; `cached` gives the positions that each cache of the model holds before the call,
/// null where all are empty. `rows`: how many there are that are by themselves, and say what caches
/// hold (Rows.h); 0 where the context's caches hold the one row that an entry of such has then.
/// Data pointers are not looked at.
attn_status resolveDims(const attn_abi_model &tables, int32_t entry, const attn_tensor *inputs,
                        const attn_tensor *outputs, const int64_t *cached, int64_t rows,
                        int64_t *dims, Error &error);

/// Binds what a model computes itself and no checkpoint holds.
attn_status bindNothing(attn_model &model, Error &error);

/// Takes the weights that are embedded in the artifact: where they lie, or a copy with the level's
/// panels where these are others.
attn_status bindEmbedded(attn_model &model, Error &error);

/// The name of an entry that fills a cache; null where there is none.
const char *entryThatFills(const attn_abi_model &tables, int32_t cache);

/// Looks for indices outside of their table in input `input`, a buffer of the host that has been
/// checked.
attn_status checkIndices(const attn_abi_entry &entry, int32_t input, const attn_tensor &given,
                         Error &error);

/// The size of an axis for these dims.
inline int64_t axisSize(const attn_abi_axis &axis, const int64_t *dims) {
  return axis.dim < 0 ? axis.offset : axis.scale * dims[axis.dim] + axis.offset;
}

/// Most dims a model may have; lets shapes be resolved without allocating.
constexpr int32_t maxDims = 256;

/// The GPU that a context runs on; null where it runs on the CPU.
class Gpu *gpuOf(attn_context &context);

/// How a picture becomes input `input` of an entry; null where it takes none.
inline const attn_abi_image *imageOf(const attn_abi_model &tables, int32_t entry, int32_t input) {
  for (int32_t i = 0; i < tables.imageCount; ++i)
    if (tables.images[i].entry == entry && tables.images[i].input == input)
      return &tables.images[i];
  return nullptr;
}

/// How input `input` of an entry becomes of a sound; null where it takes none.
inline const attn_abi_sound *soundOf(const attn_abi_model &tables, int32_t entry, int32_t input) {
  for (int32_t i = 0; i < tables.soundCount; ++i)
    if (tables.sounds[i].entry == entry && tables.sounds[i].input == input)
      return &tables.sounds[i];
  return nullptr;
}

/// The input of an entry that writes down what it hears frame by frame: it takes samples of sounds,
/// and beside them at most their `lengths`, and gives first `tokens`, i32[B, T], which are -1
/// behind the end. -1 where an entry does not.
int32_t inputOfFrames(const attn_abi_model &tables, int32_t entry);

/// How many samples a row of an input has for a sound of `count`, as few as there is room for;
/// 0, with an error, where there is none.
int64_t samplesOfRow(const attn_model &model, int32_t entry, int32_t input, int64_t count,
                     Error &error);

} // namespace attn
