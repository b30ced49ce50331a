// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// libcuda.so.1 without a GPU: the functions of the CUDA driver that the runtime uses (runtime/cuda/
// Driver.h), with the interpreter of PTX in the place of the device. ATTN_CUDA_PATH names it in
// tests. Copies and kernels wait until their stream is waited for, and run then in the caller's
// thread; ATTN_PTX_SEED chooses the kernels' interleavings, ATTN_PTX_FAULTS plants faults in them.
#include "test/gpu/driver/State.h"
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace attn;
using namespace attn::interpreted;

// Names are the driver's.
// NOLINTBEGIN(readability-identifier-naming)

#define FOR_TESTS extern "C" __attribute__((visibility("default")))

FOR_TESTS void interpretedCounts(InterpretedCounts *counts) {
  std::lock_guard lock(state().mutex);
  state().counts.pendingActions = 0;
  for (const auto &stream : state().streams)
    state().counts.pendingActions += stream->waiting.size();
  *counts = state().counts;
}

FOR_TESTS const char *interpretedUpdates() {
  std::lock_guard lock(state().mutex);
  static std::string taken;
  taken = std::move(state().updates);
  state().updates.clear();
  return taken.c_str();
}

FOR_TESTS void interpretedFail(const char *function, int skipped, int times) {
  std::lock_guard lock(state().mutex);
  state().failing = function;
  state().skipped = skipped;
  state().failures = times;
}

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
  case cuMajor:
    *value = capability / 10;
    return success;
  case cuMinor:
    *value = capability % 10;
    return success;
  case cuMultiprocessors: // so that kernels whose blocks stay on theirs are several, too
    *value = 2;
    return success;
  }
  return invalidValue;
}

DRIVER cuDevicePrimaryCtxRetain(CuContext *context, CuDevice) {
  *context = reinterpret_cast<CuContext>(&state());
  return success;
}

DRIVER cuDevicePrimaryCtxRelease_v2(CuDevice) { return success; }

DRIVER cuCtxPushCurrent_v2(CuContext context) {
  BEGIN_CALL();
  Call::contexts().push_back(context);
  return success;
}

DRIVER cuCtxPopCurrent_v2(CuContext *context) {
  BEGIN_CALL();
  if (Call::contexts().empty())
    return invalidContext;
  *context = Call::contexts().back();
  Call::contexts().pop_back();
  return success;
}

DRIVER cuCtxSetCurrent(CuContext context) {
  BEGIN_CALL();
  if (!Call::contexts().empty())
    Call::contexts().pop_back();
  Call::contexts().push_back(context);
  return success;
}

DRIVER cuCtxGetCurrent(CuContext *context) {
  BEGIN_CALL();
  *context = Call::contexts().empty() ? nullptr : Call::contexts().back();
  return success;
}

/// Errors go to the log, options 5 and 6 as the reference has them.
DRIVER cuModuleLoadDataEx(CuModule *module, const void *image, unsigned optionCount, int *options,
                          void **values) {
  BEGIN_CALL_IN_CONTEXT();
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
  BEGIN_CALL_IN_CONTEXT();
  delete reinterpret_cast<LoadedModule *>(module);
  return success;
}

DRIVER cuModuleGetFunction(CuFunction *function, CuModule module, const char *name) {
  BEGIN_CALL_IN_CONTEXT();
  auto *owner = reinterpret_cast<LoadedModule *>(module);
  if (!owner->module.find(name))
    return notFound;
  state().kernels.push_back(std::make_unique<Kernel>(Kernel{owner, name}));
  *function = reinterpret_cast<CuFunction>(state().kernels.back().get());
  return success;
}

/// What is read unwritten is NaN.
DRIVER cuMemAlloc_v2(CuPointer *pointer, size_t bytes) {
  BEGIN_CALL_IN_CONTEXT();
  if (bytes > size_t(8) << 30)
    return outOfMemory;
  auto memory = std::make_unique<std::vector<uint8_t>>(bytes, 0xff);
  *pointer = state().device.map(*memory, "device memory");
  state().memory[*pointer] = std::move(memory);
  InterpretedCounts &counts = state().counts;
  ++counts.allocations;
  counts.allocatedBytes += bytes;
  counts.mostBytes = std::max(counts.mostBytes, counts.allocatedBytes);
  return success;
}

/// Its addresses are not given out again; what is still to be done there fails.
DRIVER cuMemFree_v2(CuPointer pointer) {
  BEGIN_CALL_IN_CONTEXT();
  auto found = state().memory.find(pointer);
  if (found == state().memory.end())
    return invalidValue;
  state().counts.allocatedBytes -= found->second->size();
  state().device.unmap(pointer);
  state().memory.erase(found);
  return success;
}

static CuResult enqueueCopy(CuStream stream, void *host, CuPointer device, size_t bytes,
                            bool isToDevice) {
  if (!hostOf(device, bytes, isToDevice))
    return invalidValue;
  state().stream(stream).add(copyAction(host, device, bytes, isToDevice));
  return success;
}

/// The variable's initial value, with which it begins in each launch.
DRIVER cuModuleGetGlobal_v2(CuPointer *pointer, size_t *bytes, CuModule handle, const char *name) {
  BEGIN_CALL_IN_CONTEXT();
  ptx::Module &module = reinterpret_cast<LoadedModule *>(handle)->module;
  auto found = module.globalOffsets.find(name);
  if (found == module.globalOffsets.end())
    return notFound;
  *bytes = 8;
  *pointer = state().device.map(module.globals.bytes.data() + found->second, *bytes, name);
  return success;
}

DRIVER cuMemHostAlloc(void **pointer, size_t bytes, unsigned) {
  BEGIN_CALL_IN_CONTEXT();
  *pointer = calloc(1, bytes);
  state().hostBytes[*pointer] = bytes;
  return *pointer ? success : outOfMemory;
}

DRIVER cuMemHostGetDevicePointer_v2(CuPointer *pointer, void *host, unsigned) {
  BEGIN_CALL_IN_CONTEXT();
  *pointer = state().device.map(host, state().hostBytes[host], "memory of the host");
  return success;
}

DRIVER cuMemFreeHost(void *pointer) {
  BEGIN_CALL_IN_CONTEXT();
  state().hostBytes.erase(pointer);
  free(pointer);
  return success;
}

DRIVER cuMemcpyHtoDAsync_v2(CuPointer to, const void *from, size_t bytes, CuStream stream) {
  BEGIN_CALL_IN_CONTEXT();
  return enqueueCopy(stream, const_cast<void *>(from), to, bytes, true);
}

DRIVER cuMemcpyDtoHAsync_v2(void *to, CuPointer from, size_t bytes, CuStream stream) {
  BEGIN_CALL_IN_CONTEXT();
  return enqueueCopy(stream, to, from, bytes, false);
}

DRIVER cuStreamCreate(CuStream *stream, unsigned) {
  BEGIN_CALL_IN_CONTEXT();
  state().stream(nullptr); // The first is the legacy default stream.
  state().streams.push_back(std::make_unique<Stream>());
  *stream = reinterpret_cast<CuStream>(state().streams.back().get());
  return success;
}

/// What it has to do is done in any case.
DRIVER cuStreamDestroy_v2(CuStream stream) {
  BEGIN_CALL_IN_CONTEXT();
  Stream *own = &state().stream(stream);
  CuResult result = state().wait(*own);
  auto &streams = state().streams;
  for (size_t i = 1; i < streams.size(); ++i)
    if (streams[i].get() == own) {
      streams.erase(streams.begin() + ptrdiff_t(i));
      break;
    }
  return result;
}

DRIVER cuStreamSynchronize(CuStream stream) {
  BEGIN_CALL_IN_CONTEXT();
  if (state().stream(stream).captured)
    return captureUnsupported;
  return state().wait(state().stream(stream));
}

DRIVER cuCtxSynchronize() {
  BEGIN_CALL_IN_CONTEXT();
  for (const auto &stream : state().streams)
    if (stream->captured)
      return captureUnsupported;
  return state().waitForAll();
}

DRIVER cuMemsetD8Async(CuPointer pointer, unsigned char value, size_t bytes, CuStream stream) {
  BEGIN_CALL_IN_CONTEXT();
  if (!hostOf(pointer, bytes, true))
    return invalidValue;
  state().stream(stream).add([=] {
    uint8_t *host = hostOf(pointer, bytes, true);
    if (!host)
      return invalidValue;
    memset(host, value, bytes);
    return success;
  });
  return success;
}

DRIVER cuFuncSetAttribute(CuFunction function, int attribute, int value) {
  BEGIN_CALL_IN_CONTEXT();
  if (attribute != cuMaxDynamicSharedBytes || value < 0)
    return invalidValue;
  reinterpret_cast<Kernel *>(function)->sharedBytes = unsigned(value);
  return success;
}

DRIVER cuTensorMapEncodeTiled(CuTensorMap *map, int type, unsigned rank, void *pointer,
                              const uint64_t *sizes, const uint64_t *strides, const uint32_t *box,
                              const uint32_t *elementStrides, int interleave, int swizzle, int,
                              int fill) {
  BEGIN_CALL();
  bool isPlain = type == cuMapBfloat16 && interleave == 0 && fill == 0 && swizzle >= 0 &&
                 swizzle <= 3 && reinterpret_cast<uintptr_t>(map) % 64 == 0;
  for (unsigned d = 0; d < rank; ++d)
    isPlain &= elementStrides[d] == 1;
  if (!isPlain)
    return invalidValue;
  ++state().counts.encodings;
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
  BEGIN_CALL_IN_CONTEXT();
  *event = reinterpret_cast<CuEvent>(new Event);
  return success;
}

DRIVER cuEventDestroy_v2(CuEvent event) {
  BEGIN_CALL_IN_CONTEXT();
  delete reinterpret_cast<Event *>(event);
  return success;
}

DRIVER cuEventRecord(CuEvent event, CuStream stream) {
  BEGIN_CALL_IN_CONTEXT();
  state().stream(stream).add([event] {
    reinterpret_cast<Event *>(event)->time = std::chrono::steady_clock::now();
    return success;
  });
  return success;
}

DRIVER cuEventElapsedTime(float *milliseconds, CuEvent begin, CuEvent end) {
  std::chrono::duration<float, std::milli> passed =
      reinterpret_cast<Event *>(end)->time - reinterpret_cast<Event *>(begin)->time;
  *milliseconds = passed.count();
  return success;
}

DRIVER cuLaunchKernel(CuFunction function, unsigned gridX, unsigned gridY, unsigned gridZ,
                      unsigned blockX, unsigned blockY, unsigned blockZ, unsigned sharedBytes,
                      CuStream stream, void **arguments, void **extra) {
  BEGIN_CALL_IN_CONTEXT();
  ++state().counts.launches;
  Action action;
  CuKernelNode launch = {function, gridX,  gridY,       gridZ,     blockX,
                         blockY,   blockZ, sharedBytes, arguments, extra};
  if (CuResult result = prepareLaunch(launch, action))
    return result;
  state().stream(stream).add(std::move(action));
  return success;
}

DRIVER cuLaunchKernelEx(const CuLaunchConfig *config, CuFunction function, void **arguments,
                        void **extra) {
  BEGIN_CALL_IN_CONTEXT();
  bool isPlain = config->attributeCount == 1 && config->attributes[0].id == cuProgrammaticLaunch &&
                 config->attributes[0].value == 1;
  if (!isPlain)
    return invalidValue;
  ++state().counts.earlyLaunches;
  return cuLaunchKernel(function, config->gridX, config->gridY, config->gridZ, config->blockX,
                        config->blockY, config->blockZ, config->sharedBytes, config->stream,
                        arguments, extra);
}

DRIVER cuGetErrorString(CuResult result, const char **text) {
  BEGIN_CALL();
  *text = result == launchFailed || result == invalidValue ? state().lastError.c_str()
          : result == outOfMemory                          ? "out of memory"
          : result == invalidPtx                           ? "a PTX JIT compilation failed"
          : result == invalidImage                         ? "device kernel image is invalid"
                                                           : "an error of the interpreter";
  return success;
}
// NOLINTEND(readability-identifier-naming)
