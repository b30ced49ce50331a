// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A model on one GPU: its code and weights, a workspace that only grows, a stream, the graph of
// each entry.
#ifndef ATTN_CUDA_GPU_H
#define ATTN_CUDA_GPU_H
#include "attn/abi.h"
#include "core/Profile.h"
#include "cuda/Driver.h"
#include "cuda/Panels.h"
#include <initializer_list>

namespace attn {

/// A buffer of the caller's: of the host, or in the GPU's own memory.
struct RunBuffer {
  void *data;
  size_t bytes;
  bool isOnDevice;
};

/// A run of an entry.
struct GpuRun {
  int32_t entry;
  const int64_t *dims;
  const char *packed;
  uint32_t binding;   ///< Of `packed`: another one than that of the copy is copied.
  int64_t cacheBytes; ///< Of the entry's cache, kept from run to run.
  Vector<RunBuffer> inputs, outputs;
  Profile *profile; ///< Gets the launches' times; null where nobody wants them.
};

/// An address of the device, or a number, where the driver or generated code takes a pointer.
inline void *asPointer(CuPointer address) {
  return reinterpret_cast<void *>(address); // NOLINT(performance-no-int-to-ptr)
}

/// The GPU that a context runs on; null where it runs on the CPU.
class Gpu *gpuOf(attn_context &context);

class Gpu {
public:
  Gpu() = default;
  Gpu(const Gpu &) = delete;
  Gpu &operator=(const Gpu &) = delete;
  ~Gpu();

  /// Takes GPU number `device` and loads the code for it.
  attn_status open(const attn_abi_model &model, int32_t device, Error &error);
  int64_t workspaceBytes(int32_t entry, const int64_t *dims) const {
    return code->workspaces[entry](dims, 1);
  }
  /// Runs an entry: copies inputs of the host there and outputs back. Waits for the end, unless the
  /// stream is the caller's and so are all buffers on the GPU; after an error in any case.
  attn_status run(const GpuRun &run, Error &error);
  /// Where runs go from now on: to a stream of the caller's, or, null, to the GPU's own.
  attn_status setStream(CuStream wanted, Error &error);
  bool hasCallersStream() const { return callersStream != nullptr; }
  /// Copies device memory to the host, and waits.
  attn_status read(void *to, const void *from, size_t bytes, Error &error);
  /// Fills a cache that has been used with a byte, for timing.
  void fillCache(int32_t cache, unsigned char value);

  /// From now on each run's time on the GPU is taken.
  void enableTiming() { isTimed = true; }
  /// Of the last run: from its first kernel's begin to its last one's end, without copies.
  double milliseconds() const { return time; }

  int32_t index() const { return number; }
  const char *chip() const { return code->chip; }
  const char *name() const { return label; }

private:
  /// The most arguments of a kernel.
  static constexpr int32_t kMostWords = 64, kMostMaps = 8;

  /// Device memory that grows; what was in it is lost then.
  struct Memory {
    CuPointer pointer = 0;
    size_t bytes = 0;
  };
  /// The first launch of a run that failed.
  struct Failure {
    CuResult result = 0;
    int64_t kernel = 0;
    int32_t map = -1;                       ///< Its tensor map that was refused; -1: none.
    int64_t numbers[2 * ATTN_MAX_MAP_RANK]; ///< That map's pointer, sizes, strides.
  };

  attn_status choose(int32_t wanted, Error &error);
  attn_status loadModule(Error &error);
  attn_status loadCode(Error &error);
  attn_status loadKernel(const attn_abi_gpu_kernel &kernel, CuFunction &function, Error &error);
  attn_status grow(Memory &memory, size_t bytes, const char *what, Error &error);
  void settle();

  attn_status upload(const GpuRun &run, Error &error);
  attn_status uploadTurned(const char *packed, Error &error);
  attn_status uploadPanels(const char *from, CuPointer to, const PanelShape &shape,
                           Vector<uint32_t> &staging, Error &error);

  attn_status enqueue(const GpuRun &run, Error &error);
  attn_status makeRoom(const GpuRun &run, Vector<void *> &given, Vector<void *> &made,
                       Error &error);
  bool isRepeated(const GpuRun &run, const attn_abi_call &call);
  attn_status launchAll(const GpuRun &run, const attn_abi_call &call, Error &error);
  void launchOn(CuStream where, int32_t entry, const attn_abi_call &call);
  bool capture(int32_t entry, const attn_abi_call &call, CuGraphExec &graph);
  void dropGraph(CuGraphExec &graph);
  void record(size_t event);
  attn_status takeTimes(const GpuRun &run, Error &error);

  static void launch(void *gpu, int64_t kernel, const int64_t *arguments, int64_t count);
  CuResult launchKernel(int64_t kernel, const int64_t *arguments, int64_t count);
  CuResult encode(const attn_abi_tensor_map &map, const int64_t *numbers, CuTensorMap &encoded);
  attn_status reportFailure(Error &error) const;
  CuStream currentStream() const { return callersStream ? callersStream : stream; }

  CudaDriver driver;
  CuDevice device = 0;
  int32_t number = 0;
  char label[256] = "?";
  CuContext context = nullptr; ///< Null until retained; nothing else is there before.
  CuModule module = nullptr;
  CuStream stream = nullptr, callersStream = nullptr;
  CuStream target = nullptr; ///< Where launches go.
  const attn_abi_model *tables = nullptr;
  const attn_abi_gpu *code = nullptr;
  bool hasWeights = false;
  uint32_t uploaded = 0; ///< The binding whose weights are there.
  Vector<Memory> caches;
  /// For each entry the launches of its last run, and all that they depend on: dims and addresses.
  /// Where these are the same in the next run, a graph is made, which later ones launch.
  Vector<CuGraphExec> graphs;
  CuGraphExec profiled = nullptr; ///< Of the last profiled run.
  Vector<int64_t> keys;           ///< [entries][keySize]
  size_t keySize = 0;
  Vector<CuFunction> functions;
  int capability = 0, multiprocessors = 1;
  Memory weights, work;
  Failure failure;
  bool usesGraphs = true;   ///< Until one could not be made.
  bool isCapturing = false; ///< Whether `target` is.
  bool isPending = false;   ///< Whether a run may be under way that nobody waited for.
  bool isTimed = false, isProfiled = false;
  double time = 0;
  Vector<CuEvent> events;   ///< Before the first launch, and behind each, or behind the last.
  Vector<int64_t> launched; ///< Kernels of a profiled run, in their order.
};

} // namespace attn
#endif
