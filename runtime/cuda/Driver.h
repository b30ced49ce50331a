// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The CUDA driver's API (CUDA Driver API reference, version 11 on), as far as it is used, found in
// libcuda.so.1 when a GPU is first asked for. Nothing of CUDA is needed to build or to link.
#ifndef ATTN_CUDA_DRIVER_H
#define ATTN_CUDA_DRIVER_H
#include "core/Error.h"
#include <cstddef>

namespace attn {

using CuResult = int; ///< 0: success
using CuDevice = int;
using CuPointer = unsigned long long; ///< to device memory
using CuContext = struct CuContextHandle *;
using CuModule = struct CuModuleHandle *;
using CuFunction = struct CuFunctionHandle *;
using CuStream = struct CuStreamHandle *;

constexpr int kCuInvalidValue = 1, kCuOutOfMemory = 2;
/// Device attributes.
constexpr int kCuMultiprocessors = 16, kCuMajor = 75, kCuMinor = 76;

/// Functions are named as in the reference, but for "cu" in front.
struct CudaDriver {
  CuResult (*init)(unsigned flags);
  CuResult (*deviceGetCount)(int *count);
  CuResult (*deviceGet)(CuDevice *device, int ordinal);
  CuResult (*deviceGetName)(char *name, int length, CuDevice device);
  CuResult (*deviceGetAttribute)(int *value, int attribute, CuDevice device);
  CuResult (*devicePrimaryCtxRetain)(CuContext *context, CuDevice device);
  CuResult (*devicePrimaryCtxRelease)(CuDevice device);
  CuResult (*ctxSetCurrent)(CuContext context);
  CuResult (*moduleLoadDataEx)(CuModule *module, const void *image, unsigned optionCount,
                               int *options, void **values);
  CuResult (*moduleUnload)(CuModule module);
  CuResult (*moduleGetFunction)(CuFunction *function, CuModule module, const char *name);
  CuResult (*memAlloc)(CuPointer *pointer, size_t bytes);
  CuResult (*memFree)(CuPointer pointer);
  CuResult (*memcpyHtoDAsync)(CuPointer to, const void *from, size_t bytes, CuStream stream);
  CuResult (*memcpyDtoHAsync)(void *to, CuPointer from, size_t bytes, CuStream stream);
  CuResult (*streamCreate)(CuStream *stream, unsigned flags);
  CuResult (*streamDestroy)(CuStream stream);
  CuResult (*streamSynchronize)(CuStream stream);
  CuResult (*launchKernel)(CuFunction function, unsigned gridX, unsigned gridY, unsigned gridZ,
                           unsigned blockX, unsigned blockY, unsigned blockZ, unsigned sharedBytes,
                           CuStream stream, void **arguments, void **extra);
  CuResult (*getErrorString)(CuResult result, const char **text);

  /// Fills the functions in: of ATTN_CUDA_PATH, a library or a folder of one, else of the system's.
  /// The error says what is missing. The library stays loaded.
  attn_status load(Error &error);
  /// ATTN_OK, or an error "`what` failed: ..." in the driver's own words.
  attn_status check(CuResult result, const char *what, Error &error) const;
};

} // namespace attn
#endif
