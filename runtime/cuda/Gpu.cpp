// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cuda/Gpu.h"
#include "base/Tensor.h"
#include <cstdio>
#include <cstring>
#include <new>

using namespace attn;

Gpu::~Gpu() {
  if (!context)
    return;
  Error ignored;
  Entered entered(*this, ignored);
  settle();
  for (EntryGraph *graph : graphs) {
    if (graph)
      dropGraph(*graph);
    dispose(graph);
  }
  dropGraph(profiled);
  for (CuEvent event : events)
    driver.eventDestroy(event);
  releaseWeights();
  if (work.pointer)
    driver.memFree(work.pointer);
  for (const Memory &cache : caches)
    if (cache.pointer)
      driver.memFree(cache.pointer);
  if (stream)
    driver.streamDestroy(stream);
  for (CuModule loaded : {module, stridedModule})
    if (loaded)
      driver.moduleUnload(loaded);
  if (watchdog)
    driver.memFreeHost(watchdog);
  driver.devicePrimaryCtxRelease(device);
}

Gpu::Entered::~Entered() {
  CuContext popped = nullptr;
  if (isEntered)
    driver.ctxPopCurrent(&popped);
}

/// Waits for runs that nobody waited for: their memory is about to go, or to be used elsewhere.
void Gpu::settle() {
  if (isPending)
    driver.ctxSynchronize();
  isPending = false;
}

/// The GPU, and the code of the artifact that suits it best.
attn_status Gpu::choose(int32_t wanted, Error &error) {
  int count = 0, major = 0, minor = 0;
  if (attn_status status = driver.check(driver.deviceGetCount(&count), "counting GPUs", error))
    return status;
  if (wanted < 0 || wanted >= count) {
    error.set(ATTN_NO_DEVICE, "R0404", "no device `cuda:%d`: the driver knows %d GPUs", int(wanted),
              count);
    return error.status;
  }
  if (driver.check(driver.deviceGet(&device, wanted), "taking the GPU", error) ||
      driver.check(driver.deviceGetAttribute(&major, kCuMajor, device), "reading its kind",
                   error) ||
      driver.check(driver.deviceGetAttribute(&minor, kCuMinor, device), "reading its kind",
                   error) ||
      driver.check(driver.deviceGetAttribute(&multiprocessors, kCuMultiprocessors, device),
                   "reading its size", error))
    return error.status;
  number = wanted;
  capability = 10 * major + minor;
  if (driver.deviceGetName(label, sizeof label, device) != 0)
    strcpy(label, "?");
  for (int32_t i = 0; i < tables->gpuCount; ++i) {
    const attn_abi_gpu &own = tables->gpus[i];
    bool suits = own.isExact ? own.capability == capability : own.capability <= capability;
    if (suits && (!code || own.capability > code->capability))
      code = &own;
  }
  if (code)
    return ATTN_OK;
  error.set(ATTN_NO_DEVICE, "R0404", "model `%s` has no code for %s (sm_%d)", tables->name, label,
            capability);
  error.help("compile it with `--target=native,sm_80`");
  return error.status;
}

/// Has the driver compile PTX.
attn_status Gpu::loadPtx(const char *ptx, CuModule &loaded, Error &error) {
  char log[1024] = "";
  // JIT_ERROR_LOG_BUFFER and its size.
  int options[] = {5, 6};
  void *values[] = {log, asPointer(sizeof log)};
  CuResult result = driver.moduleLoadDataEx(&loaded, ptx, 2, options, values);
  if (driver.check(result, "compiling the GPU's code", error) == ATTN_OK)
    return ATTN_OK;
  loaded = nullptr;
  if (*log)
    error.note("%s", log);
  return error.status;
}

/// The machine code, where it is for this very GPU and the driver takes it, else the PTX.
attn_status Gpu::loadModule(Error &error) {
  bool isAssembled = code->cubin && code->capability == capability &&
                     driver.moduleLoadDataEx(&module, code->cubin, 0, nullptr, nullptr) == 0;
  snprintf(loadedText, sizeof loadedText, "%s, %s", code->chip,
           isAssembled ? "machine code" : "PTX");
  return isAssembled ? ATTN_OK : loadPtx(code->ptx, module, error);
}

attn_status Gpu::loadOverlap(Error &error) {
  overlaps = strstr(code->ptx, "griddepcontrol.wait");
  return overlaps ? driver.loadOverlap(error) : ATTN_OK;
}

/// Tells kernels that have a watchdog where to write.
attn_status Gpu::loadWatchdog(Error &error) {
  if (!strstr(code->ptx, "attn_watchdog"))
    return ATTN_OK;
  if (attn_status status = driver.loadWatchdog(error))
    return status;
  CuPointer global = 0, report = 0;
  size_t bytes = 0;
  void *memory = nullptr;
  if (driver.check(driver.memHostAlloc(&memory, sizeof(WatchdogReport), kCuHostMapped),
                   "making room for the watchdog", error))
    return error.status;
  watchdog = new (memory) WatchdogReport();
  if (driver.check(driver.memHostGetDevicePointer(&report, memory, 0), "opening the watchdog",
                   error) ||
      driver.check(driver.moduleGetGlobal(&global, &bytes, module, "attn_watchdog"),
                   "opening the watchdog", error) ||
      driver.check(driver.memcpyHtoDAsync(global, &report, sizeof report, stream),
                   "opening the watchdog", error))
    return error.status;
  return driver.check(driver.streamSynchronize(stream), "opening the watchdog", error);
}

/// Says where a kernel has waited in vain.
void Gpu::addWatchdog(Error &error) const {
  if (!watchdog || !watchdog->kernel)
    return;
  const char *name =
      watchdog->kernel <= code->kernelCount ? code->kernels[watchdog->kernel - 1].name : "?";
  error.note("a wait of kernel `%s` did not end: block %d, warp %d, for %.*s", name,
             int(watchdog->block), int(watchdog->thread / 32), int(sizeof watchdog->place),
             watchdog->place);
}

attn_status Gpu::loadKernel(const attn_abi_gpu_kernel &kernel, CuFunction &function, Error &error) {
  if (kernel.wordCount > kMostWords || kernel.mapCount > kMostMaps)
    return error.set(ATTN_NO_DEVICE, "R0106", "kernel `%s` has too many arguments", kernel.name);
  if (kernel.mapCount && !driver.tensorMapEncodeTiled)
    if (attn_status status = driver.loadTensorMaps(error))
      return status;
  if (attn_status status = driver.check(driver.moduleGetFunction(&function, module, kernel.name),
                                        kernel.name, error))
    return status;
  if (kernel.sharedBytes == 0)
    return ATTN_OK;
  CuResult taken = driver.funcSetAttribute(function, kCuMaxDynamicSharedBytes, kernel.sharedBytes);
  if (driver.check(taken, "asking for shared memory", error) == ATTN_OK)
    return ATTN_OK;
  error.note("kernel `%s` takes %d bytes a block", kernel.name, int(kernel.sharedBytes));
  return error.status;
}

attn_status Gpu::loadCode(Error &error) {
  if (loadModule(error) || loadOverlap(error) || loadWatchdog(error))
    return error.status;
  if (!functions.resize(size_t(code->kernelCount)))
    return error.outOfMemory("the GPU's kernels");
  for (int32_t i = 0; i < code->kernelCount; ++i)
    if (attn_status status = loadKernel(code->kernels[i], functions[size_t(i)], error))
      return status;
  return ATTN_OK;
}

attn_status Gpu::grow(Memory &memory, size_t bytes, const char *what, Error &error) {
  if (bytes <= memory.bytes)
    return ATTN_OK;
  settle();
  if (memory.pointer)
    driver.memFree(memory.pointer);
  memory = Memory();
  if (attn_status status = driver.check(driver.memAlloc(&memory.pointer, bytes), what, error)) {
    memory.pointer = 0;
    error.note("%zu bytes of device memory were asked for", bytes);
    return status;
  }
  memory.bytes = bytes;
  return ATTN_OK;
}

attn_status Gpu::open(const attn_abi_model &model, SharedWeights &sharedWeights, int32_t wanted,
                      Error &error) {
  shared = &sharedWeights;
  if (model.gpuCount == 0) {
    error.set(ATTN_NO_DEVICE, "R0404", "model `%s` has no code for GPUs", model.name);
    error.help("compile it with `--target=native,sm_80`");
    return error.status;
  }
  tables = &model;
  if (driver.load(error) || choose(wanted, error))
    return error.status;
  CuContext retained = nullptr;
  if (driver.check(driver.devicePrimaryCtxRetain(&retained, device), "opening the GPU", error))
    return error.status;
  context = retained;
  if (!caches.resize(size_t(model.cacheCount)) || !graphs.resize(size_t(model.entryCount)))
    return error.outOfMemory("the GPU's state");
  for (EntryGraph *&graph : graphs)
    if (!(graph = create<EntryGraph>()))
      return error.outOfMemory("the GPU's state");
  Entered entered(*this, error);
  if (!entered ||
      driver.check(driver.streamCreate(&stream, kCuStreamNonBlocking), "making a stream", error))
    return error.status;
  return loadCode(error);
}

attn_status Gpu::setStream(CuStream wanted, Error &error) {
  Entered entered(*this, error);
  if (!entered)
    return error.status;
  // The workspace is one for all streams.
  settle();
  callersStream = wanted;
  return ATTN_OK;
}

attn_status Gpu::loadStrided(Error &error) {
  if (stridedModule)
    return ATTN_OK;
  CuModule loaded = nullptr;
  if (attn_status status = loadPtx(kStridedPtx, loaded, error))
    return status;
  for (int k = 0; k < StridedCopy::kWidths; ++k)
    if (driver.check(driver.moduleGetFunction(&stridedCopies[k], loaded, kStridedKernels[k]),
                     kStridedKernels[k], error)) {
      driver.moduleUnload(loaded);
      return error.status;
    }
  stridedModule = loaded;
  return ATTN_OK;
}

attn_status Gpu::read(void *to, const attn_tensor &from, Error &error) {
  Entered entered(*this, error);
  if (!entered)
    return error.status;
  recording.clear();
  auto dense = reinterpret_cast<CuPointer>(from.data);
  if (!isDense(from)) {
    if (loadStrided(error) || grow(work, size_t(byteSize(from)), "copying from the GPU", error))
      return error.status;
    dense = work.pointer;
  }
  if ((!isDense(from) && !recordStrided(StridedCopy::gather(from, dense))) ||
      !recording.addCopy(Step::CopyOut, dense, to, size_t(byteSize(from))))
    return error.outOfMemory("copying from the GPU");
  attn_status status = issue(recording, 0, recording.size(), error);
  // After an error, too: the copy's end may not be there any more.
  CuResult ended = driver.streamSynchronize(currentStream());
  return status ? status : driver.check(ended, "copying from the GPU", error);
}

attn_status Gpu::writeCache(int32_t cache, const void *from, size_t bytes, Error &error) {
  Memory &memory = caches[size_t(cache)];
  Entered entered(*this, error);
  if (!entered || grow(memory, bytes, "making room for a cache", error) ||
      driver.check(driver.memcpyHtoDAsync(memory.pointer, from, bytes, stream), "copying a cache",
                   error))
    return error.status;
  return driver.check(driver.streamSynchronize(stream), "copying a cache", error);
}

attn_status Gpu::readCache(int32_t cache, void *to, size_t bytes, Error &error) {
  Entered entered(*this, error);
  if (!entered)
    return error.status;
  settle();
  if (attn_status status =
          driver.check(driver.memcpyDtoHAsync(to, caches[size_t(cache)].pointer, bytes, stream),
                       "copying a cache", error))
    return status;
  return driver.check(driver.streamSynchronize(stream), "copying a cache", error);
}

void Gpu::fillCache(int32_t cache, unsigned char value) {
  const Memory &memory = caches[size_t(cache)];
  Error ignored;
  Entered entered(*this, ignored);
  driver.memsetD8Async(memory.pointer, value, memory.bytes, currentStream());
}
