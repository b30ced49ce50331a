// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "cuda/Gpu.h"

using namespace attn;

/// Parts of device memory begin at multiples of this.
static size_t aligned(size_t bytes) { return (bytes + 255) / 256 * 256; }

/// An address of the device, or a number, where the driver or generated code takes a pointer.
static void *asPointer(CuPointer address) {
  return reinterpret_cast<void *>(address); // NOLINT(performance-no-int-to-ptr)
}

static constexpr int64_t kMostArguments = 64;

Gpu::~Gpu() {
  if (!context)
    return;
  driver.ctxSetCurrent(context);
  for (const Memory *memory : {&weights, &work})
    if (memory->pointer)
      driver.memFree(memory->pointer);
  for (const Memory &cache : caches)
    if (cache.pointer)
      driver.memFree(cache.pointer);
  if (stream)
    driver.streamDestroy(stream);
  if (module)
    driver.moduleUnload(module);
  driver.devicePrimaryCtxRelease(device);
}

/// The GPU, and the code of the artifact that suits it best.
attn_status Gpu::choose(const attn_abi_model &tables, int32_t number, Error &error) {
  int count = 0, major = 0, minor = 0;
  if (attn_status status = driver.check(driver.deviceGetCount(&count), "counting GPUs", error))
    return status;
  if (number < 0 || number >= count) {
    error.set(ATTN_NO_DEVICE, "R0404", "no device `cuda:%d`: the driver knows %d GPUs", int(number),
              count);
    return error.status;
  }
  if (driver.check(driver.deviceGet(&device, number), "taking the GPU", error) ||
      driver.check(driver.deviceGetAttribute(&major, kCuMajor, device), "reading its kind",
                   error) ||
      driver.check(driver.deviceGetAttribute(&minor, kCuMinor, device), "reading its kind",
                   error) ||
      driver.check(driver.deviceGetAttribute(&multiprocessors, kCuMultiprocessors, device),
                   "reading its size", error))
    return error.status;
  int capability = 10 * major + minor;
  for (int32_t i = 0; i < tables.gpuCount; ++i) {
    const attn_abi_gpu &own = tables.gpus[i];
    bool suits = own.isExact ? own.capability == capability : own.capability <= capability;
    if (suits && (!code || own.capability > code->capability))
      code = &own;
  }
  if (code)
    return ATTN_OK;
  char name[256] = "?";
  driver.deviceGetName(name, sizeof name, device);
  error.set(ATTN_NO_DEVICE, "R0404", "model `%s` has no code for %s (sm_%d)", tables.name, name,
            capability);
  error.help("compile it with `--target=native,sm_80`");
  return error.status;
}

attn_status Gpu::loadCode(Error &error) {
  char log[1024] = "";
  // JIT_ERROR_LOG_BUFFER and its size.
  int options[] = {5, 6};
  void *values[] = {log, asPointer(sizeof log)};
  CuResult loaded = driver.moduleLoadDataEx(&module, code->ptx, 2, options, values);
  if (driver.check(loaded, "compiling the GPU's code", error)) {
    if (*log)
      error.note("%s", log);
    return error.status;
  }
  if (!functions.resize(size_t(code->kernelCount)))
    return error.outOfMemory("the GPU's kernels");
  for (int32_t i = 0; i < code->kernelCount; ++i)
    if (attn_status status = driver.check(
            driver.moduleGetFunction(&functions[size_t(i)], module, code->kernels[i].name),
            code->kernels[i].name, error))
      return status;
  return ATTN_OK;
}

attn_status Gpu::grow(Memory &memory, size_t bytes, const char *what, Error &error) {
  if (bytes <= memory.bytes)
    return ATTN_OK;
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

attn_status Gpu::upload(const char *packed, uint32_t binding, Error &error) {
  if (packedBytes == 0 || (hasWeights && uploaded == binding))
    return ATTN_OK;
  hasWeights = false;
  if (attn_status status = grow(weights, packedBytes, "making room for the weights", error))
    return status;
  if (attn_status status =
          driver.check(driver.memcpyHtoDAsync(weights.pointer, packed, packedBytes, stream),
                       "copying the weights", error))
    return status;
  hasWeights = true, uploaded = binding;
  return ATTN_OK;
}

attn_status Gpu::open(const attn_abi_model &tables, int32_t number, Error &error) {
  if (tables.gpuCount == 0) {
    error.set(ATTN_NO_DEVICE, "R0404", "model `%s` has no code for GPUs", tables.name);
    error.help("compile it with `--target=native,sm_80`");
    return error.status;
  }
  if (driver.load(error) || choose(tables, number, error))
    return error.status;
  CuContext retained = nullptr;
  if (driver.check(driver.devicePrimaryCtxRetain(&retained, device), "opening the GPU", error))
    return error.status;
  context = retained;
  packedBytes = size_t(tables.packedBytes);
  entries = tables.entries;
  if (!caches.resize(size_t(tables.cacheCount)))
    return error.outOfMemory("the GPU's caches");
  if (driver.check(driver.ctxSetCurrent(context), "opening the GPU", error) ||
      driver.check(driver.streamCreate(&stream, 0), "making a stream", error))
    return error.status;
  return loadCode(error);
}

void Gpu::launch(void *gpu, int64_t kernel, const int64_t *arguments, int64_t count) {
  Gpu &own = *static_cast<Gpu *>(gpu);
  void *pointers[kMostArguments];
  if (own.launched)
    return;
  if (count > kMostArguments) {
    own.launched = kCuInvalidValue;
    return;
  }
  for (int64_t i = 0; i < count; ++i)
    pointers[i] = const_cast<int64_t *>(arguments + i);
  const attn_abi_gpu_kernel &info = own.code->kernels[kernel];
  unsigned blocks = unsigned(own.multiprocessors * info.blocks), threads = unsigned(info.threads);
  own.launched = own.driver.launchKernel(own.functions[size_t(kernel)], blocks, 1, 1, threads, 1, 1,
                                         0, own.stream, pointers, nullptr);
}

attn_status Gpu::run(const char *packed, uint32_t binding, int32_t entry, int64_t cacheBytes,
                     const int64_t *dims, const Vector<HostBuffer> &inputs,
                     const Vector<HostBuffer> &outputs, Error &error) {
  if (driver.check(driver.ctxSetCurrent(context), "taking the GPU", error) ||
      upload(packed, binding, error))
    return error.status;
  int64_t wanted = workspaceBytes(entry, dims);
  if (wanted < 0)
    return error.set(ATTN_OUT_OF_MEMORY, "R0401", "no memory for a workspace of %lld bytes",
                     static_cast<long long>(wanted));
  size_t total = aligned(size_t(wanted));
  for (const Vector<HostBuffer> *buffers : {&inputs, &outputs})
    for (const HostBuffer &buffer : *buffers)
      total += aligned(buffer.bytes);
  if (grow(work, total, "making room for a run", error))
    return error.status;
  CuPointer next = work.pointer + aligned(size_t(wanted));
  Vector<void *> given, made;
  auto place = [&](const Vector<HostBuffer> &buffers, Vector<void *> &places) {
    for (const HostBuffer &buffer : buffers) {
      if (!places.push(asPointer(next)))
        return error.outOfMemory("a run");
      next += aligned(buffer.bytes);
    }
    return ATTN_OK;
  };
  if (place(inputs, given) || place(outputs, made))
    return error.status;
  for (size_t i = 0; i < inputs.size(); ++i)
    if (driver.check(driver.memcpyHtoDAsync(reinterpret_cast<CuPointer>(given[i]), inputs[i].data,
                                            inputs[i].bytes, stream),
                     "copying an input", error))
      return error.status;
  attn_abi_call call = {};
  call.inputs = given.data(), call.outputs = made.data(), call.dims = dims;
  call.packed = static_cast<const char *>(asPointer(weights.pointer));
  call.workspace = static_cast<char *>(asPointer(work.pointer));
  call.threads = 1;
  call.team = this, call.launch = launch;
  if (entries[entry].cache >= 0) {
    Memory &cache = caches[size_t(entries[entry].cache)];
    if (grow(cache, size_t(cacheBytes), "making room for a cache", error))
      return error.status;
    call.cache = static_cast<char *>(asPointer(cache.pointer));
  }
  launched = 0;
  code->entries[entry](&call, 0);
  if (driver.check(launched, "launching a kernel", error))
    return error.status;
  for (size_t i = 0; i < outputs.size(); ++i)
    if (driver.check(driver.memcpyDtoHAsync(outputs[i].data, reinterpret_cast<CuPointer>(made[i]),
                                            outputs[i].bytes, stream),
                     "copying an output", error))
      return error.status;
  return driver.check(driver.streamSynchronize(stream), "running the model", error);
}
