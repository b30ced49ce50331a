// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From the number of a GPU to its context, stream and memory.
#include "cuda/Device.h"
#include "cuda/Recording.h"
#include <cstring>

using namespace attn;

EnteredGpu::~EnteredGpu() {
  CuContext popped = nullptr;
  if (isEntered)
    driver.ctxPopCurrent(&popped);
}

attn_status GpuDevice::find(int32_t wanted, Error &error) {
  if (attn_status status = driver.load(error))
    return status;
  int count = 0, major = 0, minor = 0;
  if (attn_status status = driver.check(driver.deviceGetCount(&count), "counting GPUs", error))
    return status;
  if (wanted < 0 || wanted >= count) {
    error.set(ATTN_NO_DEVICE, "R0404", "no device `cuda:%d`: the driver knows %d GPUs", int(wanted),
              count);
    return error.status;
  }
  if (driver.check(driver.deviceGet(&handle, wanted), "taking the GPU", error) ||
      driver.check(driver.deviceGetAttribute(&major, cuMajor, handle), "reading its kind", error) ||
      driver.check(driver.deviceGetAttribute(&minor, cuMinor, handle), "reading its kind", error) ||
      driver.check(driver.deviceGetAttribute(&multiprocessors, cuMultiprocessors, handle),
                   "reading its size", error))
    return error.status;
  number = wanted;
  capability = 10 * major + minor;
  if (driver.deviceGetName(label, sizeof label, handle) != 0)
    strcpy(label, "?");
  return ATTN_OK;
}

attn_status GpuDevice::retain(Error &error) {
  CuContext retained = nullptr;
  if (driver.check(driver.devicePrimaryCtxRetain(&retained, handle), "opening the GPU", error))
    return error.status;
  context = retained;
  return ATTN_OK;
}

attn_status GpuDevice::makeStream(Error &error) {
  return driver.check(driver.streamCreate(&stream, cuStreamNonBlocking), "making a stream", error);
}

void GpuDevice::release() { driver.devicePrimaryCtxRelease(handle); }

attn_status GpuDevice::loadPtx(const char *ptx, CuModule &loaded, Error &error) const {
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

attn_status GpuDevice::grow(DeviceMemory &memory, size_t bytes, const char *what, Error &error) {
  if (bytes <= memory.bytes)
    return ATTN_OK;
  settle();
  if (memory.pointer)
    driver.memFree(memory.pointer);
  memory = DeviceMemory();
  if (attn_status status = driver.check(driver.memAlloc(&memory.pointer, bytes), what, error)) {
    memory.pointer = 0;
    error.note("%zu bytes of device memory were asked for", bytes);
    return status;
  }
  memory.bytes = bytes;
  return ATTN_OK;
}

void GpuDevice::free(DeviceMemory &memory) {
  if (memory.pointer)
    driver.memFree(memory.pointer);
  memory = DeviceMemory();
}

void GpuDevice::settle() {
  if (isPending)
    driver.ctxSynchronize();
  isPending = false;
}

bool GpuDevice::isCaptured() const {
  int status = 0;
  return callersStream && driver.streamIsCapturing(callersStream, &status) == 0 && status != 0;
}
