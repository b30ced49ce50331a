// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a run asks of its stream, written down before any of it is done: copies, launches, events.
// Two runs are compared by it, so that a CUDA graph of the one serves the other.
#pragma once

#include "attn/abi.h"
#include "base/Vector.h"
#include "cuda/Driver.h"

namespace attn {

/// An address of the device, or a number, where the driver or generated code takes a pointer.
inline void *asPointer(CuPointer address) {
  return reinterpret_cast<void *>(address); // NOLINT(performance-no-int-to-ptr)
}

/// One thing that the stream does after the one before.
struct Step {
  /// What a step does: launches a kernel, copies to the device or from it, records an event.
  enum Kind : int32_t { Launch, CopyIn, CopyOut, Record };
  Kind kind;
  /// Words of the recording. A launch's are its arguments (the last of stridedKernels' has
  /// several), or its arguments, then what its maps are of; a copy's the device's address, the
  /// host's, the bytes; a record's its event.
  size_t first, count;
  // What only a launch has:
  int64_t kernel; ///< Of attn_abi_gpu.kernels; -1 - k: of stridedKernels, k.
  CuFunction function;
  unsigned blocks, threads, sharedBytes;
  int32_t argumentCount, mapCount;
  size_t firstMap; ///< Of the recording's maps.
  const attn_abi_tensor_map *maps;
};

/// Numbers that say what a map is of: pointer, sizes, strides.
inline int32_t numbersOf(const attn_abi_tensor_map &map) { return 2 * map.rank; }

/// The steps of a run, with the numbers that they are done with.
class Recording {
public:
  /// Forgets all steps.
  void clear();
  /// Appends a step of a kind with these words; its other fields are those of `step`. False where
  /// memory is lacking.
  bool add(Step step, const int64_t *words, size_t count);
  bool addCopy(Step::Kind kind, CuPointer device, const void *host, size_t bytes);

  /// The number of steps.
  size_t size() const { return steps.size(); }
  const Step &operator[](size_t i) const { return steps[i]; }
  /// The words of step `i`.
  const int64_t *wordsOf(size_t i) const { return words.data() + steps[i].first; }
  /// The encoded map `map` of step `i`: 128 bytes, garbage at first.
  char *mapOf(size_t i, int32_t map) { return maps[steps[i].firstMap + size_t(map)].bytes; }
  const char *mapOf(size_t i, int32_t map) const {
    return maps[steps[i].firstMap + size_t(map)].bytes;
  }

  /// Whether both do the same in the same order, whatever with: a graph of the one can be updated
  /// to do the other.
  bool isLike(const Recording &other) const;
  /// Whether step `i` of two recordings that are alike is the same to the last word.
  bool isSame(const Recording &other, size_t i) const;
  void swap(Recording &other) noexcept;

private:
  /// An encoded tensor map.
  struct Map {
    char bytes[sizeof(CuTensorMap)]; ///< realloc aligns less than CuTensorMap asks for
  };
  Vector<Step> steps;
  Vector<int64_t> words;
  Vector<Map> maps;
};

} // namespace attn
