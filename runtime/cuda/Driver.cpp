// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The driver's library by dlopen, its functions by dlsym, its errors in its own words.
#include "cuda/Driver.h"
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <sys/stat.h>

using namespace attn;

namespace {
struct Symbol {
  const char *name;
  size_t offset; ///< in CudaDriver
};
} // namespace

// The versions of symbols that later headers give the plain names to; of a kernel's nodes the first
// version, which drivers of CUDA 11 have, too.
static constexpr Symbol driverSymbols[] = {
    {"cuInit", offsetof(CudaDriver, init)},
    {"cuDeviceGetCount", offsetof(CudaDriver, deviceGetCount)},
    {"cuDeviceGet", offsetof(CudaDriver, deviceGet)},
    {"cuDeviceGetName", offsetof(CudaDriver, deviceGetName)},
    {"cuDeviceGetAttribute", offsetof(CudaDriver, deviceGetAttribute)},
    {"cuDevicePrimaryCtxRetain", offsetof(CudaDriver, devicePrimaryCtxRetain)},
    {"cuDevicePrimaryCtxRelease_v2", offsetof(CudaDriver, devicePrimaryCtxRelease)},
    {"cuCtxPushCurrent_v2", offsetof(CudaDriver, ctxPushCurrent)},
    {"cuCtxPopCurrent_v2", offsetof(CudaDriver, ctxPopCurrent)},
    {"cuModuleLoadDataEx", offsetof(CudaDriver, moduleLoadDataEx)},
    {"cuModuleUnload", offsetof(CudaDriver, moduleUnload)},
    {"cuModuleGetFunction", offsetof(CudaDriver, moduleGetFunction)},
    {"cuMemAlloc_v2", offsetof(CudaDriver, memAlloc)},
    {"cuMemFree_v2", offsetof(CudaDriver, memFree)},
    {"cuMemcpyHtoDAsync_v2", offsetof(CudaDriver, memcpyHtoDAsync)},
    {"cuMemcpyDtoHAsync_v2", offsetof(CudaDriver, memcpyDtoHAsync)},
    {"cuStreamCreate", offsetof(CudaDriver, streamCreate)},
    {"cuStreamDestroy_v2", offsetof(CudaDriver, streamDestroy)},
    {"cuStreamSynchronize", offsetof(CudaDriver, streamSynchronize)},
    {"cuStreamIsCapturing", offsetof(CudaDriver, streamIsCapturing)},
    {"cuLaunchKernel", offsetof(CudaDriver, launchKernel)},
    {"cuCtxSynchronize", offsetof(CudaDriver, ctxSynchronize)},
    {"cuFuncSetAttribute", offsetof(CudaDriver, funcSetAttribute)},
    {"cuMemsetD8Async", offsetof(CudaDriver, memsetD8Async)},
    {"cuEventCreate", offsetof(CudaDriver, eventCreate)},
    {"cuEventDestroy_v2", offsetof(CudaDriver, eventDestroy)},
    {"cuEventRecord", offsetof(CudaDriver, eventRecord)},
    {"cuEventElapsedTime", offsetof(CudaDriver, eventElapsedTime)},
    {"cuGraphCreate", offsetof(CudaDriver, graphCreate)},
    {"cuGraphAddKernelNode", offsetof(CudaDriver, graphAddKernelNode)},
    {"cuGraphAddMemcpyNode", offsetof(CudaDriver, graphAddMemcpyNode)},
    {"cuGraphAddEventRecordNode", offsetof(CudaDriver, graphAddEventRecordNode)},
    {"cuGraphInstantiateWithFlags", offsetof(CudaDriver, graphInstantiate)},
    {"cuGraphExecKernelNodeSetParams", offsetof(CudaDriver, graphExecKernelNodeSetParams)},
    {"cuGraphExecMemcpyNodeSetParams", offsetof(CudaDriver, graphExecMemcpyNodeSetParams)},
    {"cuGraphLaunch", offsetof(CudaDriver, graphLaunch)},
    {"cuGraphDestroy", offsetof(CudaDriver, graphDestroy)},
    {"cuGraphExecDestroy", offsetof(CudaDriver, graphExecDestroy)},
    {"cuGetErrorString", offsetof(CudaDriver, getErrorString)},
};

static constexpr Symbol overlapSymbols[] = {
    {"cuLaunchKernelEx", offsetof(CudaDriver, launchKernelEx)},
    {"cuGraphAddDependencies_v2", offsetof(CudaDriver, graphAddDependencies)},
};

static constexpr Symbol watchdogSymbols[] = {
    {"cuModuleGetGlobal_v2", offsetof(CudaDriver, moduleGetGlobal)},
    {"cuMemHostAlloc", offsetof(CudaDriver, memHostAlloc)},
    {"cuMemHostGetDevicePointer_v2", offsetof(CudaDriver, memHostGetDevicePointer)},
    {"cuMemFreeHost", offsetof(CudaDriver, memFreeHost)},
};

/// The library's path: what ATTN_CUDA_PATH says, or the name that the loader looks for.
static void libraryPath(char (&path)[4096]) {
  const char *given = getenv("ATTN_CUDA_PATH");
  struct stat found;
  bool isFolder = given && *given && stat(given, &found) == 0 && S_ISDIR(found.st_mode);
  snprintf(path, sizeof path, isFolder ? "%s/libcuda.so.1" : "%s",
           given && *given ? given : "libcuda.so.1");
}

/// Fills in the function at `offset` of the driver.
static attn_status find(CudaDriver &driver, const char *name, size_t offset, Error &error) {
  void *address = dlsym(driver.library, name);
  if (!address) {
    char path[4096];
    libraryPath(path);
    error.set(ATTN_NO_DEVICE, "R0602", "the CUDA driver `%s` is too old: it has no %s", path, name);
    error.help("install a driver of CUDA 12 or later");
    return error.status;
  }
  memcpy(reinterpret_cast<char *>(&driver) + offset, &address, sizeof address);
  return ATTN_OK;
}

template <size_t count>
static attn_status findAll(CudaDriver &driver, const Symbol (&symbols)[count], Error &error) {
  for (const Symbol &symbol : symbols)
    if (attn_status status = find(driver, symbol.name, symbol.offset, error))
      return status;
  return ATTN_OK;
}

attn_status CudaDriver::load(Error &error) {
  char path[4096];
  libraryPath(path);
  library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    error.set(ATTN_NO_DEVICE, "R0601", "there is no CUDA driver: %s", dlerror());
    error.help("install NVIDIA's driver, or run on the CPU");
    return error.status;
  }
  if (attn_status status = findAll(*this, driverSymbols, error))
    return status;
  return check(init(0), "starting the CUDA driver", error);
}

attn_status CudaDriver::loadTensorMaps(Error &error) {
  return find(*this, "cuTensorMapEncodeTiled", offsetof(CudaDriver, tensorMapEncodeTiled), error);
}

attn_status CudaDriver::loadOverlap(Error &error) { return findAll(*this, overlapSymbols, error); }

attn_status CudaDriver::loadWatchdog(Error &error) {
  return findAll(*this, watchdogSymbols, error);
}

attn_status CudaDriver::check(CuResult result, const char *what, Error &error) const {
  if (result == 0)
    return ATTN_OK;
  const char *text = nullptr;
  if (getErrorString(result, &text) != 0 || !text)
    text = "unknown error";
  bool isMemory = result == cuOutOfMemory;
  return error.set(isMemory ? ATTN_OUT_OF_MEMORY : ATTN_NO_DEVICE, isMemory ? "R0603" : "R0604",
                   "%s failed: %s (CUDA error %d)", what, text, int(result));
}
