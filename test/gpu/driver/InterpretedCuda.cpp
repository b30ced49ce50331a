// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// libcuda.so.1 without a GPU: the functions of the CUDA driver that the runtime uses (runtime/cuda/
// Driver.h), with the interpreter of PTX in the place of the device. ATTN_CUDA_PATH names it in
// tests. Kernels run at once, in the caller's thread; ATTN_PTX_SEED chooses their interleavings.
// What a capturing stream gets is kept instead, and runs when its graph is launched.
#include "cuda/Driver.h"
#include "test/gpu/Launch.h"
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <memory>

using namespace attn;

namespace {

constexpr CuResult success = 0, invalidValue = 1, outOfMemory = 2, invalidImage = 200,
                   invalidPtx = 218, notFound = 500, launchFailed = 719, captureUnsupported = 900;

/// Dynamic shared memory that a kernel may have without asking.
constexpr unsigned plainSharedBytes = 48 << 10;

struct LoadedModule {
  ptx::Module module;
};

struct Kernel {
  LoadedModule *owner;
  std::string name;
  unsigned sharedBytes = plainSharedBytes;
};

struct Event {
  std::chrono::steady_clock::time_point time;
};

/// Its nodes, in their order.
struct Graph {
  std::vector<std::function<CuResult()>> nodes;
};

/// The one device, and what is on it.
struct State {
  ptx::Device device;
  std::map<CuPointer, std::unique_ptr<std::vector<uint8_t>>> memory;
  std::vector<std::unique_ptr<Kernel>> kernels;
  Graph *captured = nullptr; ///< Of the stream that is capturing; the others share it.
  int graphLaunches = 0;
  std::string lastError = "an error of the interpreter";
};

State &state() {
  static State state;
  return state;
}

uint8_t *hostOf(CuPointer pointer, size_t bytes, bool write) {
  std::string error;
  uint8_t *found = state().device.resolve(pointer, bytes, write, error);
  if (!found)
    state().lastError = error;
  return found;
}

/// Does it now, or when the graph is launched that is being captured.
CuResult doOrCapture(std::function<CuResult()> action) {
  if (!state().captured)
    return action();
  state().captured->nodes.push_back(std::move(action));
  return success;
}

} // namespace

/// For tests.
extern "C" __attribute__((visibility("default"))) int interpretedGraphLaunches() {
  return state().graphLaunches;
}

// Names are the driver's.
// NOLINTBEGIN(readability-identifier-naming)
#define DRIVER extern "C" __attribute__((visibility("default"))) CuResult

DRIVER cuInit(unsigned) { return success; }

DRIVER cuDeviceGetCount(int *count) {
  *count = 1;
  return success;
}

DRIVER cuDeviceGet(CuDevice *device, int ordinal) {
  *device = 0;
  return ordinal == 0 ? success : invalidValue;
}

DRIVER cuDeviceGetName(char *name, int length, CuDevice) {
  snprintf(name, size_t(length), "interpreter");
  return success;
}

/// ATTN_PTX_CAPABILITY, 80 where it is not set.
DRIVER cuDeviceGetAttribute(int *value, int attribute, CuDevice) {
  const char *given = getenv("ATTN_PTX_CAPABILITY");
  int capability = given ? static_cast<int>(strtol(given, nullptr, 10)) : 80;
  switch (attribute) {
  case kCuMajor:
    *value = capability / 10;
    return success;
  case kCuMinor:
    *value = capability % 10;
    return success;
  case kCuMultiprocessors:
    *value = 1;
    return success;
  }
  return invalidValue;
}

DRIVER cuDevicePrimaryCtxRetain(CuContext *context, CuDevice) {
  *context = reinterpret_cast<CuContext>(&state());
  return success;
}

DRIVER cuDevicePrimaryCtxRelease_v2(CuDevice) { return success; }
DRIVER cuCtxSetCurrent(CuContext) { return success; }

/// Errors go to the log, options 5 and 6 as the reference has them.
DRIVER cuModuleLoadDataEx(CuModule *module, const void *image, unsigned optionCount, int *options,
                          void **values) {
  if (strncmp(static_cast<const char *>(image),
              "\x7f"
              "ELF",
              4) == 0)
    return invalidImage;
  auto loaded = std::make_unique<LoadedModule>();
  loaded->module = ptx::Module::parse(static_cast<const char *>(image));
  if (loaded->module.errors.empty()) {
    *module = reinterpret_cast<CuModule>(loaded.release());
    return success;
  }
  char *log = nullptr;
  size_t size = 0;
  for (unsigned i = 0; i < optionCount; ++i) {
    if (options[i] == 5)
      log = static_cast<char *>(values[i]);
    if (options[i] == 6)
      size = reinterpret_cast<size_t>(values[i]);
  }
  if (log && size)
    snprintf(log, size, "%s", loaded->module.errors.front().c_str());
  return invalidPtx;
}

DRIVER cuModuleUnload(CuModule module) {
  delete reinterpret_cast<LoadedModule *>(module);
  return success;
}

DRIVER cuModuleGetFunction(CuFunction *function, CuModule module, const char *name) {
  auto *owner = reinterpret_cast<LoadedModule *>(module);
  if (!owner->module.find(name))
    return notFound;
  state().kernels.push_back(std::make_unique<Kernel>(Kernel{owner, name}));
  *function = reinterpret_cast<CuFunction>(state().kernels.back().get());
  return success;
}

/// What is read unwritten is NaN.
DRIVER cuMemAlloc_v2(CuPointer *pointer, size_t bytes) {
  if (bytes > size_t(8) << 30)
    return outOfMemory;
  auto memory = std::make_unique<std::vector<uint8_t>>(bytes, 0xff);
  *pointer = state().device.map(*memory, "device memory");
  state().memory[*pointer] = std::move(memory);
  return success;
}

/// Its addresses are not given out again, and not to be used again either.
DRIVER cuMemFree_v2(CuPointer pointer) {
  return state().memory.count(pointer) ? success : invalidValue;
}

DRIVER cuMemcpyHtoDAsync_v2(CuPointer to, const void *from, size_t bytes, CuStream) {
  if (state().captured)
    return captureUnsupported;
  uint8_t *host = hostOf(to, bytes, true);
  if (!host)
    return invalidValue;
  memcpy(host, from, bytes);
  return success;
}

DRIVER cuMemcpyDtoHAsync_v2(void *to, CuPointer from, size_t bytes, CuStream) {
  if (state().captured)
    return captureUnsupported;
  const uint8_t *host = hostOf(from, bytes, false);
  if (!host)
    return invalidValue;
  memcpy(to, host, bytes);
  return success;
}

DRIVER cuStreamCreate(CuStream *stream, unsigned) {
  *stream = reinterpret_cast<CuStream>(&state());
  return success;
}

DRIVER cuStreamDestroy_v2(CuStream) { return success; }
DRIVER cuStreamSynchronize(CuStream) { return success; }

DRIVER cuCtxSynchronize() { return success; }

DRIVER cuMemsetD8Async(CuPointer pointer, unsigned char value, size_t bytes, CuStream) {
  uint8_t *host = hostOf(pointer, bytes, true);
  if (!host)
    return invalidValue;
  memset(host, value, bytes);
  return success;
}

DRIVER cuFuncSetAttribute(CuFunction function, int attribute, int value) {
  if (attribute != kCuMaxDynamicSharedBytes || value < 0)
    return invalidValue;
  reinterpret_cast<Kernel *>(function)->sharedBytes = unsigned(value);
  return success;
}

DRIVER cuTensorMapEncodeTiled(CuTensorMap *map, int type, unsigned rank, void *pointer,
                              const uint64_t *sizes, const uint64_t *strides, const uint32_t *box,
                              const uint32_t *elementStrides, int interleave, int swizzle, int,
                              int fill) {
  bool isPlain = type == kCuMapBfloat16 && interleave == 0 && fill == 0 && swizzle >= 0 &&
                 swizzle <= 3 && reinterpret_cast<uintptr_t>(map) % 64 == 0;
  for (unsigned d = 0; d < rank; ++d)
    isPlain &= elementStrides[d] == 1;
  if (!isPlain)
    return invalidValue;
  ptx::TensorMap encoded;
  std::string error =
      ptx::encodeTiled(encoded, /*elementBytes=*/2, int(rank), reinterpret_cast<uint64_t>(pointer),
                       sizes, strides, box, static_cast<ptx::Swizzle>(swizzle));
  if (!error.empty()) {
    state().lastError = error;
    return invalidValue;
  }
  static_assert(sizeof(CuTensorMap) == sizeof(ptx::TensorMap));
  memcpy(map, &encoded, sizeof encoded);
  return success;
}

DRIVER cuEventCreate(CuEvent *event, unsigned) {
  *event = reinterpret_cast<CuEvent>(new Event);
  return success;
}

DRIVER cuEventDestroy_v2(CuEvent event) {
  delete reinterpret_cast<Event *>(event);
  return success;
}

DRIVER cuEventRecordWithFlags(CuEvent event, CuStream, unsigned flags) {
  // Others mark a place in the capture and have no time.
  if (state().captured && flags != kCuRecordExternal)
    return captureUnsupported;
  return doOrCapture([event] {
    reinterpret_cast<Event *>(event)->time = std::chrono::steady_clock::now();
    return success;
  });
}

DRIVER cuEventElapsedTime(float *milliseconds, CuEvent begin, CuEvent end) {
  std::chrono::duration<float, std::milli> passed =
      reinterpret_cast<Event *>(end)->time - reinterpret_cast<Event *>(begin)->time;
  *milliseconds = passed.count();
  return success;
}

DRIVER cuStreamBeginCapture_v2(CuStream, int mode) {
  if (state().captured || mode < 0 || mode > 2)
    return invalidValue;
  state().captured = new Graph;
  return success;
}

DRIVER cuStreamEndCapture(CuStream, CuGraph *graph) {
  if (!state().captured)
    return invalidValue;
  *graph = reinterpret_cast<CuGraph>(state().captured);
  state().captured = nullptr;
  return success;
}

DRIVER cuGraphInstantiateWithFlags(CuGraphExec *exec, CuGraph graph, unsigned long long) {
  *exec = reinterpret_cast<CuGraphExec>(new Graph(*reinterpret_cast<Graph *>(graph)));
  return success;
}

DRIVER cuGraphLaunch(CuGraphExec exec, CuStream) {
  if (state().captured)
    return captureUnsupported;
  ++state().graphLaunches;
  for (const auto &node : reinterpret_cast<Graph *>(exec)->nodes)
    if (CuResult result = node())
      return result;
  return success;
}

DRIVER cuGraphDestroy(CuGraph graph) {
  delete reinterpret_cast<Graph *>(graph);
  return success;
}

DRIVER cuGraphExecDestroy(CuGraphExec exec) {
  delete reinterpret_cast<Graph *>(exec);
  return success;
}

DRIVER cuLaunchKernel(CuFunction function, unsigned gridX, unsigned gridY, unsigned gridZ,
                      unsigned blockX, unsigned blockY, unsigned blockZ, unsigned sharedBytes,
                      CuStream, void **arguments, void **) {
  auto *kernel = reinterpret_cast<Kernel *>(function);
  if (sharedBytes > kernel->sharedBytes) {
    state().lastError = kernel->name + " may have " + std::to_string(kernel->sharedBytes) +
                        " bytes of dynamic shared memory, but got " + std::to_string(sharedBytes);
    return invalidValue;
  }
  std::vector<ptx::Argument> values;
  const auto &parameters = kernel->owner->module.find(kernel->name)->parameters;
  for (size_t i = 0; i < parameters.size(); ++i) {
    const auto *bytes = static_cast<const uint8_t *>(arguments[i]);
    values.emplace_back(uint8_t(0));
    values.back().bytes.assign(bytes, bytes + parameters[i].size);
  }
  return doOrCapture([=] {
    ptx::Options options;
    if (const char *seed = getenv("ATTN_PTX_SEED"))
      options.seed = strtoull(seed, nullptr, 10);
    ptx::Result result =
        ptx::launch(state().device, kernel->owner->module, kernel->name, {gridX, gridY, gridZ},
                    {blockX, blockY, blockZ}, sharedBytes, values, options);
    if (result)
      return success;
    state().lastError = kernel->name + ": " + result.error;
    return launchFailed;
  });
}

DRIVER cuGetErrorString(CuResult result, const char **text) {
  *text = result == launchFailed || result == invalidValue ? state().lastError.c_str()
          : result == outOfMemory                          ? "out of memory"
          : result == invalidPtx                           ? "a PTX JIT compilation failed"
          : result == invalidImage                         ? "device kernel image is invalid"
                                                           : "an error of the interpreter";
  return success;
}
// NOLINTEND(readability-identifier-naming)
