// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The code of an artifact for one GPU, loaded: its kernels, those of strided copies, what watches
// over them.
#pragma once

#include "attn/abi.h"
#include "cuda/Device.h"
#include "cuda/Recording.h"
#include "cuda/Strided.h"

namespace attn {

/// What a kernel whose wait did not end writes before it traps (attn_watchdog in its module points
/// there): memory of the host's, since the device's is lost then.
struct WatchdogReport {
  int32_t kernel; ///< Its number and 1.
  int32_t block, thread;
  char place[12]; ///< What it waited for.
};

/// Loaded code. All but `choose` and the getters inside of an EnteredGpu.
class GpuCode {
public:
  explicit GpuCode(GpuDevice &device) : device(device) {}
  GpuCode(const GpuCode &) = delete;
  GpuCode &operator=(const GpuCode &) = delete;

  /// The most arguments of a kernel.
  static constexpr int32_t mostWords = 64, mostMaps = 8;

  /// Chooses the code of the model that suits the GPU best, once that was found.
  attn_status choose(const attn_abi_model &model, Error &error);
  /// Loads what was chosen, and looks for what it needs of the driver.
  attn_status load(Error &error);
  /// Loads the kernels of strided copies, where they are not there yet.
  attn_status loadStrided(Error &error);
  /// Unloads the modules, and gives up the watchdog.
  void unload();
  /// Appends to an error where a kernel has waited in vain, if one has.
  void addWatchdog(Error &error) const;

  /// The artifact's tables of the code that was chosen.
  const attn_abi_gpu &tables() const { return *table; }
  /// The loaded function of kernel `kernel` of attn_abi_gpu.kernels.
  CuFunction function(int64_t kernel) const { return functions[size_t(kernel)]; }
  /// The loaded function of kernel `kernel` of stridedKernels.
  CuFunction stridedCopy(int32_t kernel) const { return stridedCopies[kernel]; }
  /// Whether a step is a launch that may start before the one before it has ended.
  bool startsEarly(const Step &step) const { return overlaps && step.kernel >= 0; }
  /// What was loaded: "sm_90a, machine code", or "sm_90a, PTX", which the driver has compiled.
  const char *name() const { return loadedText; }

private:
  /// Loads the cubin where it is of this very chip, else the PTX.
  attn_status loadModule(Error &error);
  /// Finds a kernel's function, and asks for the shared memory that it needs.
  attn_status loadKernel(const attn_abi_gpu_kernel &kernel, CuFunction &function, Error &error);
  /// Finds what launches that overlap need, where kernels are made for them.
  attn_status loadOverlap(Error &error);
  /// Gives kernels that have a watchdog the memory that it reports to.
  attn_status loadWatchdog(Error &error);

  GpuDevice &device;
  const attn_abi_gpu *table = nullptr;
  CuModule module = nullptr;
  CuModule stridedModule = nullptr; ///< Loaded when first needed.
  CuFunction stridedCopies[StridedCopy::widthCount] = {};
  Vector<CuFunction> functions;
  char loadedText[40] = "";
  WatchdogReport *watchdog = nullptr; ///< Where kernels have one.
  bool overlaps = false;              ///< Kernels wait for those before them by themselves.
};

} // namespace attn
