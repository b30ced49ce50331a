// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The choice among an artifact's code for GPUs, and its loading: modules, kernels, the watchdog.
#include "cuda/Code.h"
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <new>

using namespace attn;

attn_status GpuCode::choose(const attn_abi_model &model, Error &error) {
  for (int32_t i = 0; i < model.gpuCount; ++i) {
    const attn_abi_gpu &own = model.gpus[i];
    bool suits =
        own.isExact ? own.capability == device.capability : own.capability <= device.capability;
    if (suits && (!table || own.capability > table->capability))
      table = &own;
  }
  if (table)
    return ATTN_OK;
  error.set(ATTN_NO_DEVICE, "R0404", "model `%s` has no code for %s (sm_%d)", model.name,
            device.label, device.capability);
  error.help("compile it with `--target=native,sm_80`");
  return error.status;
}

/// The machine code, where it is for this very GPU and the driver takes it, else the PTX.
attn_status GpuCode::loadModule(Error &error) {
  bool isAssembled =
      table->cubin && table->capability == device.capability &&
      device.driver.moduleLoadDataEx(&module, table->cubin, 0, nullptr, nullptr) == 0;
  snprintf(loadedText, sizeof loadedText, "%s, %s", table->chip,
           isAssembled ? "machine code" : "PTX");
  return isAssembled ? ATTN_OK : device.loadPtx(table->ptx, module, error);
}

attn_status GpuCode::loadOverlap(Error &error) {
  overlaps = strstr(table->ptx, "griddepcontrol.wait");
  return overlaps ? device.driver.loadOverlap(error) : ATTN_OK;
}

/// Tells kernels that have a watchdog where to write.
attn_status GpuCode::loadWatchdog(Error &error) {
  if (!strstr(table->ptx, "attn_watchdog"))
    return ATTN_OK;
  if (attn_status status = device.driver.loadWatchdog(error))
    return status;
  CuPointer global = 0, report = 0;
  size_t bytes = 0;
  void *memory = nullptr;
  if (device.driver.check(device.driver.memHostAlloc(&memory, sizeof(WatchdogReport), cuHostMapped),
                          "making room for the watchdog", error))
    return error.status;
  watchdog = new (memory) WatchdogReport();
  if (device.driver.check(device.driver.memHostGetDevicePointer(&report, memory, 0),
                          "opening the watchdog", error) ||
      device.driver.check(device.driver.moduleGetGlobal(&global, &bytes, module, "attn_watchdog"),
                          "opening the watchdog", error) ||
      device.driver.check(
          device.driver.memcpyHtoDAsync(global, &report, sizeof report, device.stream),
          "opening the watchdog", error))
    return error.status;
  return device.driver.check(device.driver.streamSynchronize(device.stream), "opening the watchdog",
                             error);
}

/// Says where a kernel has waited in vain.
void GpuCode::addWatchdog(Error &error) const {
  if (!watchdog || !watchdog->kernel)
    return;
  const char *name =
      watchdog->kernel <= table->kernelCount ? table->kernels[watchdog->kernel - 1].name : "?";
  error.note("a wait of kernel `%s` did not end: block %d, warp %d, for %.*s", name,
             int(watchdog->block), int(watchdog->thread / 32), int(sizeof watchdog->place),
             watchdog->place);
}

attn_status GpuCode::loadKernel(const attn_abi_gpu_kernel &kernel, CuFunction &function,
                                Error &error) {
  if (kernel.wordCount > mostWords || kernel.mapCount > mostMaps)
    return error.set(ATTN_NO_DEVICE, "R0106", "kernel `%s` has too many arguments", kernel.name);
  if (kernel.mapCount && !device.driver.tensorMapEncodeTiled)
    if (attn_status status = device.driver.loadTensorMaps(error))
      return status;
  if (attn_status status = device.driver.check(
          device.driver.moduleGetFunction(&function, module, kernel.name), kernel.name, error))
    return status;
  if (kernel.sharedBytes == 0)
    return ATTN_OK;
  CuResult taken =
      device.driver.funcSetAttribute(function, cuMaxDynamicSharedBytes, kernel.sharedBytes);
  if (device.driver.check(taken, "asking for shared memory", error) == ATTN_OK)
    return ATTN_OK;
  error.note("kernel `%s` takes %d bytes a block", kernel.name, int(kernel.sharedBytes));
  return error.status;
}

attn_status GpuCode::load(Error &error) {
  if (loadModule(error) || loadOverlap(error) || loadWatchdog(error))
    return error.status;
  if (!functions.resize(size_t(table->kernelCount)))
    return error.outOfMemory("the GPU's kernels");
  for (int32_t i = 0; i < table->kernelCount; ++i)
    if (attn_status status = loadKernel(table->kernels[i], functions[size_t(i)], error))
      return status;
  return ATTN_OK;
}

attn_status GpuCode::loadStrided(Error &error) {
  if (stridedModule)
    return ATTN_OK;
  CuModule loaded = nullptr;
  if (attn_status status = device.loadPtx(stridedPtx, loaded, error))
    return status;
  for (int k = 0; k < StridedCopy::widthCount; ++k)
    if (device.driver.check(
            device.driver.moduleGetFunction(&stridedCopies[k], loaded, stridedKernels[k]),
            stridedKernels[k], error)) {
      device.driver.moduleUnload(loaded);
      return error.status;
    }
  stridedModule = loaded;
  return ATTN_OK;
}

void GpuCode::unload() {
  for (CuModule loaded : {module, stridedModule})
    if (loaded)
      device.driver.moduleUnload(loaded);
  if (watchdog)
    device.driver.memFreeHost(watchdog);
}
