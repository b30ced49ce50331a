// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A context's model on one GPU: its code, the weights that it shares with other contexts, a
// workspace that only grows, a stream, the graph of each entry.
#pragma once

#include "attn/abi.h"
#include "cuda/Graph.h"
#include "cuda/Weights.h"
#include <initializer_list>

namespace attn {

/// A buffer of the caller's: of the host, in the GPU's own memory, or there with strides or at an
/// address that kernels do not take.
struct RunBuffer {
  /// Where a buffer lies.
  enum Place : int32_t { Host, Device, Strided };
  attn_tensor tensor;
  size_t bytes; ///< Of the dense tensor.
  Place place;
};

/// A run of an entry.
struct GpuRun {
  int32_t entry;
  const int64_t *dims;
  const char *packed;
  uint32_t binding;          ///< Of `packed`: another one than that of the copy is copied.
  Vector<size_t> cacheBytes; ///< Of each of the entry's caches, kept from run to run.
  Vector<RunBuffer> inputs, outputs;
  /// Gets when each kernel began and ended, in nanoseconds since the run began; null where nobody
  /// wants that. Where memory is lacking some are left out.
  Vector<attn_kernel_event> *kernels;
};

/// Used by one caller at a time.
class Gpu {
public:
  Gpu() = default;
  Gpu(const Gpu &) = delete;
  Gpu &operator=(const Gpu &) = delete;
  ~Gpu();

  /// Takes GPU number `wanted` and loads the code for it. `packedSlots`, as GpuWeights has them,
  /// and `shared`, the model's, outlive this.
  attn_status open(const attn_abi_model &model, const attn_abi_slot *packedSlots,
                   SharedWeights &shared, int32_t wanted, Error &error);
  int64_t workspaceBytes(int32_t entry, const int64_t *dims) const {
    return code.tables().workspaces[entry](dims, 1);
  }
  /// Runs an entry: copies inputs of the host there and outputs back, strided ones to dense memory
  /// and back. Waits for the end, unless the stream is the caller's and all buffers are on the GPU;
  /// after an error in any case.
  attn_status run(const GpuRun &run, Error &error);
  /// Where runs go from now on: to a stream of the caller's, or, null, to the GPU's own.
  attn_status setStream(CuStream wanted, Error &error);
  bool hasCallersStream() const { return device.callersStream != nullptr; }
  /// Copies a tensor of the device, which may be strided, to dense memory of the host, and waits.
  /// No run is under way.
  attn_status read(void *to, const attn_tensor &from, Error &error);
  /// Copies `bytes` of a cache from the host, or to it, and waits; there are as many.
  attn_status writeCache(int32_t cache, const void *from, size_t bytes, Error &error);
  attn_status readCache(int32_t cache, void *to, size_t bytes, Error &error);
  /// Fills a cache that has been used with a byte, for timing.
  void fillCache(int32_t cache, unsigned char value);

  /// From now on each run's time on the GPU is taken.
  void enableTiming() { isTimed = true; }
  /// The time of the last run, from the begin of its first kernel to the end of its last, without
  /// copies.
  double milliseconds() const { return time; }

  /// The number of the GPU, as the driver counts.
  int32_t index() const { return device.number; }
  /// The chip that the loaded code is for: "sm_80".
  const char *chip() const { return code.tables().chip; }
  /// What was loaded: "sm_90a, machine code", or "sm_90a, PTX", which the driver has compiled.
  const char *loaded() const { return code.name(); }
  const char *name() const { return device.label; }

private:
  /// Records a run and hands it to the stream; does not wait.
  attn_status enqueue(const GpuRun &run, Error &error);
  /// Gets the workspace, the caches and dense buffers for a run: pointers in `given` are the
  /// kernels' buffers, those in `made` the dense copies of strided ones.
  attn_status makeRoom(const GpuRun &run, Vector<void *> &given, Vector<void *> &made,
                       Error &error);
  /// Records what a run does, in order: copies in, launches, copies out.
  attn_status recordRun(const GpuRun &run, Vector<void *> &given, Vector<void *> &made,
                        Error &error);
  /// Records event number `event` of `events`.
  void recordEvent(size_t event);
  /// Records a strided copy, as several launches where it is too large for one; false where memory
  /// is lacking.
  bool recordStrided(StridedCopy copy);
  /// attn_abi_call.launch of a Gpu: records a launch.
  static void recordLaunch(void *gpu, int64_t kernel, const int64_t *arguments, int64_t count);
  /// Reads the events of a run that has ended, for its time and its profile.
  attn_status takeTimes(const GpuRun &run, Error &error);

  GpuDevice device;
  GpuCode code{device};
  Launcher launcher{device, code};
  GraphRunner runner{launcher};
  GpuWeights weights{device};
  const attn_abi_model *tables = nullptr;
  Vector<DeviceMemory> caches;
  Vector<char *> cacheBlocks;  ///< Where they lie.
  Vector<EntryGraph *> graphs; ///< One per entry.
  EntryGraph profiled;         ///< Of profiled runs, of any entry.
  Recording recording;         ///< Of the run that begins.
  DeviceMemory work;
  bool isTimed = false, isProfiled = false;
  double time = 0;
  size_t launched = 0;    ///< Kernels of the run that begins.
  Vector<CuEvent> events; ///< Before the first launch, and behind each, or behind the last.
};

} // namespace attn
