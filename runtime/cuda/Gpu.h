// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A context's model on one GPU: its code, the weights that it shares with other contexts, a
// workspace that only grows, a stream, the graph of each entry.
#ifndef ATTN_CUDA_GPU_H
#define ATTN_CUDA_GPU_H
#include "attn/abi.h"
#include "cuda/Driver.h"
#include "cuda/Panels.h"
#include "cuda/Recording.h"
#include "cuda/SharedWeights.h"
#include "cuda/Strided.h"
#include <initializer_list>

namespace attn {

/// A buffer of the caller's: of the host, in the GPU's own memory, or there with strides or at an
/// address that kernels do not take.
struct RunBuffer {
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
  uint32_t binding;   ///< Of `packed`: another one than that of the copy is copied.
  int64_t cacheBytes; ///< Of the entry's cache, kept from run to run.
  Vector<RunBuffer> inputs, outputs;
  /// Gets when each kernel began and ended, in nanoseconds since the run began; null where nobody
  /// wants that. Where memory is lacking some are left out.
  Vector<attn_kernel_event> *kernels;
};

/// An entry's last run, and the CUDA graph that does the same, where there is one: it holds steps
/// [first, first + nodes.size()) of the run, a node for each, one behind the other.
struct EntryGraph {
  Recording done;
  CuGraph graph = nullptr; ///< What `nodes` are of; `exec` was made of it.
  CuGraphExec exec = nullptr;
  Vector<CuGraphNode> nodes;
  size_t first = 0;
};

/// What a kernel whose wait did not end writes before it traps (attn_watchdog in its module points
/// there): memory of the host's, since the device's is lost then.
struct WatchdogReport {
  int32_t kernel; ///< Its number and 1.
  int32_t block, thread;
  char place[12]; ///< What it waited for.
};

class Gpu {
public:
  Gpu() = default;
  Gpu(const Gpu &) = delete;
  Gpu &operator=(const Gpu &) = delete;
  ~Gpu();

  /// Takes GPU number `device` and loads the code for it. `shared`, the model's, outlives this.
  attn_status open(const attn_abi_model &model, SharedWeights &shared, int32_t device,
                   Error &error);
  int64_t workspaceBytes(int32_t entry, const int64_t *dims) const {
    return code->workspaces[entry](dims, 1);
  }
  /// Runs an entry: copies inputs of the host there and outputs back, strided ones to dense memory
  /// and back. Waits for the end, unless the
  /// stream is the caller's and so are all buffers on the GPU; after an error in any case.
  attn_status run(const GpuRun &run, Error &error);
  /// Where runs go from now on: to a stream of the caller's, or, null, to the GPU's own.
  attn_status setStream(CuStream wanted, Error &error);
  bool hasCallersStream() const { return callersStream != nullptr; }
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
  /// Of the last run: from its first kernel's begin to its last one's end, without copies.
  double milliseconds() const { return time; }

  int32_t index() const { return number; }
  const char *chip() const { return code->chip; }
  /// What was loaded: "sm_90a, machine code", or "sm_90a, PTX", which the driver has compiled.
  const char *loaded() const { return loadedText; }
  const char *name() const { return label; }

private:
  /// Makes the GPU's context the thread's current one, until it ends: then it is the caller's
  /// again.
  class Entered {
  public:
    Entered(const Gpu &gpu, Error &error)
        : driver(gpu.driver), isEntered(driver.check(driver.ctxPushCurrent(gpu.context),
                                                     "taking the GPU", error) == ATTN_OK) {}
    Entered(const Entered &) = delete;
    Entered &operator=(const Entered &) = delete;
    ~Entered();
    explicit operator bool() const { return isEntered; }

  private:
    const CudaDriver &driver;
    bool isEntered;
  };

  /// The most arguments of a kernel.
  static constexpr int32_t kMostWords = 64, kMostMaps = 8;

  /// What the driver is told to launch a kernel. Stays where it is: it points to itself.
  struct PreparedLaunch {
    CuKernelNode node;
    void *pointers[kMostWords + kMostMaps];
    CuTensorMap maps[kMostMaps];
  };
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
  attn_status loadPtx(const char *ptx, CuModule &loaded, Error &error);
  attn_status loadModule(Error &error);
  attn_status loadCode(Error &error);
  attn_status loadKernel(const attn_abi_gpu_kernel &kernel, CuFunction &function, Error &error);
  attn_status grow(Memory &memory, size_t bytes, const char *what, Error &error);
  void settle();
  bool isCaptured() const;
  attn_status loadOverlap(Error &error);
  attn_status loadWatchdog(Error &error);
  void addWatchdog(Error &error) const;

  attn_status upload(const GpuRun &run, Error &error);
  attn_status uploadAll(const char *packed, Error &error);
  void releaseWeights();
  attn_status uploadTurned(const char *packed, Vector<uint32_t> &staging, Error &error);
  attn_status uploadPanels(const char *from, CuPointer to, const PanelShape &shape,
                           Vector<uint32_t> &staging, Error &error);

  attn_status enqueue(const GpuRun &run, Error &error);
  attn_status makeRoom(const GpuRun &run, Vector<void *> &given, Vector<void *> &made,
                       Error &error);
  attn_status recordRun(const GpuRun &run, Vector<void *> &given, Vector<void *> &made,
                        Error &error);
  void recordEvent(size_t event);
  bool recordStrided(StridedCopy copy);
  attn_status loadStrided(Error &error);
  static void recordLaunch(void *gpu, int64_t kernel, const int64_t *arguments, int64_t count);
  attn_status takeTimes(const GpuRun &run, Error &error);

  attn_status perform(EntryGraph &own, Error &error);
  bool makeGraph(EntryGraph &own);
  bool makeGraphOf(EntryGraph &own, size_t first, size_t end);
  bool updateGraph(EntryGraph &own);
  CuResult addNode(EntryGraph &own, size_t step);
  CuResult updateNode(EntryGraph &own, size_t step);
  void dropGraph(EntryGraph &own);

  attn_status issue(const Recording &run, size_t first, size_t end, Error &error);
  /// Whether a step is a launch that may start before the one before it has ended.
  bool startsEarly(const Step &step) const { return overlaps && step.kernel >= 0; }
  CuResult launch(const CuKernelNode &node, bool startsEarly);
  static void prepare(const Recording &run, size_t step, PreparedLaunch &launch);
  CuResult encodeMaps(Recording &run, const Recording *before);
  CuResult encode(const attn_abi_tensor_map &map, const int64_t *numbers, char *encoded);
  attn_status reportFailure(Error &error) const;
  CuStream currentStream() const { return callersStream ? callersStream : stream; }

  CudaDriver driver;
  CuDevice device = 0;
  int32_t number = 0;
  char label[256] = "?";
  CuContext context = nullptr; ///< Null until retained; nothing else is there before.
  CuModule module = nullptr;
  CuModule stridedModule = nullptr; ///< Loaded when first needed.
  CuFunction stridedCopies[StridedCopy::kWidths] = {};
  CuStream stream = nullptr, callersStream = nullptr;
  const attn_abi_model *tables = nullptr;
  const attn_abi_gpu *code = nullptr;
  SharedWeights *shared = nullptr;
  DeviceWeights *weights = nullptr; ///< Null until first needed.
  Vector<Memory> caches;
  Vector<EntryGraph *> graphs; ///< One per entry.
  EntryGraph profiled;         ///< Of profiled runs, of any entry.
  Recording recording;         ///< Of the run that begins.
  Vector<CuFunction> functions;
  int capability = 0, multiprocessors = 1;
  char loadedText[40] = "";
  WatchdogReport *watchdog = nullptr; ///< Where kernels have one.
  Memory work;
  Failure failure;
  bool overlaps = false;    ///< Kernels wait for those before them by themselves.
  bool usesGraphs = true;   ///< Until one could not be made.
  bool graphsCopies = true; ///< Until one could not be made with copies to and from the host.
  bool isPending = false;   ///< Whether a run may be under way that nobody waited for.
  bool isTimed = false, isProfiled = false;
  double time = 0;
  size_t launched = 0;    ///< Kernels of the run that begins.
  Vector<CuEvent> events; ///< Before the first launch, and behind each, or behind the last.
};

} // namespace attn
#endif
