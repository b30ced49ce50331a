// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A model on one GPU: its code and weights, a workspace that only grows, a stream.
#ifndef ATTN_CUDA_GPU_H
#define ATTN_CUDA_GPU_H
#include "attn/abi.h"
#include "cuda/Driver.h"
#include <initializer_list>

namespace attn {

/// A buffer of the caller's, in memory of the host.
struct HostBuffer {
  void *data;
  size_t bytes;
};

class Gpu {
public:
  Gpu() = default;
  Gpu(const Gpu &) = delete;
  Gpu &operator=(const Gpu &) = delete;
  ~Gpu();

  /// Takes GPU number `device` and loads the code for it.
  attn_status open(const attn_abi_model &tables, int32_t device, Error &error);
  int64_t workspaceBytes(int32_t entry, const int64_t *dims) const {
    return code->workspaces[entry](dims, 1);
  }
  /// Runs an entry: copies inputs there and outputs back, and waits for these. The packed weights
  /// are copied where `binding` is another than that of the copy. The entry's cache takes
  /// `cacheBytes`, which are kept from run to run.
  attn_status run(const char *packed, uint32_t binding, int32_t entry, int64_t cacheBytes,
                  const int64_t *dims, const Vector<HostBuffer> &inputs,
                  const Vector<HostBuffer> &outputs, Error &error);

private:
  /// Device memory that grows; what was in it is lost then.
  struct Memory {
    CuPointer pointer = 0;
    size_t bytes = 0;
  };
  attn_status choose(const attn_abi_model &tables, int32_t device, Error &error);
  attn_status loadCode(Error &error);
  attn_status upload(const char *packed, uint32_t binding, Error &error);
  attn_status grow(Memory &memory, size_t bytes, const char *what, Error &error);
  static void launch(void *gpu, int64_t kernel, const int64_t *arguments, int64_t count);

  CudaDriver driver;
  CuDevice device = 0;
  CuContext context = nullptr; ///< Null until retained; nothing else is there before.
  CuModule module = nullptr;
  CuStream stream = nullptr;
  const attn_abi_gpu *code = nullptr;
  size_t packedBytes = 0;
  bool hasWeights = false;
  uint32_t uploaded = 0; ///< The binding whose weights are there.
  const attn_abi_entry *entries = nullptr;
  Vector<Memory> caches;
  Vector<CuFunction> functions;
  int multiprocessors = 1;
  Memory weights, work;
  CuResult launched = 0; ///< The first launch of a run that failed, else 0.
};

} // namespace attn
#endif
