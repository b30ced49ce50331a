// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// libcuda.so.1 without a GPU: the functions of the CUDA driver that the runtime uses (runtime/cuda/
// Driver.h), with the interpreter of PTX in the place of the device. ATTN_CUDA_PATH names it in
// tests. Kernels run at once, in the caller's thread; ATTN_PTX_SEED chooses their interleavings.
#include "cuda/Driver.h"
#include "test/gpu/Launch.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>

using namespace attn;

namespace {

constexpr CuResult success = 0, invalidValue = 1, outOfMemory = 2, invalidPtx = 218, notFound = 500,
                   launchFailed = 719;

struct LoadedModule {
  ptx::Module module;
};

struct Kernel {
  LoadedModule *owner;
  std::string name;
};

/// The one device, and what is on it.
struct State {
  ptx::Device device;
  std::map<CuPointer, std::unique_ptr<std::vector<uint8_t>>> memory;
  std::vector<std::unique_ptr<Kernel>> kernels;
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

} // namespace

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
  uint8_t *host = hostOf(to, bytes, true);
  if (!host)
    return invalidValue;
  memcpy(host, from, bytes);
  return success;
}

DRIVER cuMemcpyDtoHAsync_v2(void *to, CuPointer from, size_t bytes, CuStream) {
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

/// Arguments are of 8 bytes each, as the runtime has them.
DRIVER cuLaunchKernel(CuFunction function, unsigned gridX, unsigned gridY, unsigned gridZ,
                      unsigned blockX, unsigned blockY, unsigned blockZ, unsigned sharedBytes,
                      CuStream, void **arguments, void **) {
  auto *kernel = reinterpret_cast<Kernel *>(function);
  std::vector<ptx::Argument> values;
  size_t count = kernel->owner->module.find(kernel->name)->parameters.size();
  for (size_t i = 0; i < count; ++i)
    values.emplace_back(*static_cast<uint64_t *>(arguments[i]));
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
}

DRIVER cuGetErrorString(CuResult result, const char **text) {
  *text = result == launchFailed || result == invalidValue ? state().lastError.c_str()
          : result == outOfMemory                          ? "out of memory"
          : result == invalidPtx                           ? "a PTX JIT compilation failed"
                                                           : "an error of the interpreter";
  return success;
}
// NOLINTEND(readability-identifier-naming)
