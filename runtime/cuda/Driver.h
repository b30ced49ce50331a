// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The CUDA driver's API (CUDA Driver API reference, version 11 on), as far as it is used, found in
// libcuda.so.1 when a GPU is first asked for. Nothing of CUDA is needed to build or to link.
#pragma once

#include "base/Error.h"
#include <cstddef>

namespace attn {

using CuResult = int; ///< 0: success
/// The ordinal of a device.
using CuDevice = int;
using CuPointer = unsigned long long; ///< to device memory
/// Handles that the driver gives out. The driver owns what they stand for.
using CuContext = struct CuContextHandle *;
using CuModule = struct CuModuleHandle *;
using CuFunction = struct CuFunctionHandle *;
using CuStream = struct CuStreamHandle *;
using CuEvent = struct CuEventHandle *;
using CuGraph = struct CuGraphHandle *;
using CuGraphNode = struct CuGraphNodeHandle *;
using CuGraphExec = struct CuGraphExecHandle *;

/// CUtensorMap: what a kernel takes by value and copies boxes of a tensor by.
struct alignas(64) CuTensorMap {
  char bytes[128];
};

/// CUDA_KERNEL_NODE_PARAMS, of version 1.
struct CuKernelNode {
  CuFunction function;
  unsigned gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes;
  void **arguments, **extra;
};

/// CUlaunchAttribute and CUlaunchConfig.
struct CuLaunchAttribute {
  int id, padding;
  union {
    int value;
    char bytes[64];
  };
};
/// CUlaunchConfig.
struct CuLaunchConfig {
  unsigned gridX, gridY, gridZ, blockX, blockY, blockZ, sharedBytes;
  CuStream stream;
  CuLaunchAttribute *attributes;
  unsigned attributeCount;
};
/// A kernel may start before the one before it on the stream has ended.
constexpr int cuProgrammaticLaunch = 6;
/// CUgraphEdgeData; of such a launch in a graph, both are 1.
struct CuGraphEdge {
  unsigned char fromPort, toPort, type, reserved[5];
};

/// CUDA_MEMCPY3D, of version 2: where a copy is from or goes to, and the whole of it.
struct CuCopyEnd {
  size_t x, y, z, level;
  int memory; ///< cuHost or cuDevice
  const void *host;
  CuPointer device;
  void *array, *reserved;
  size_t pitch, height;
};
/// CUDA_MEMCPY3D as a node of a graph: both ends, and the size of the copy.
struct CuCopyNode {
  CuCopyEnd from, to;
  size_t bytes, rows, slices;
};
/// CUmemorytype.
constexpr int cuHost = 1, cuDevice = 2;

/// CUresult.
constexpr int cuInvalidValue = 1, cuOutOfMemory = 2;
/// Device attributes.
constexpr int cuMultiprocessors = 16, cuMajor = 75, cuMinor = 76;
/// Attributes of functions.
constexpr int cuMaxDynamicSharedBytes = 8;
/// Memory of the host that the device can write to.
constexpr unsigned cuHostMapped = 2;
/// What others do on the legacy default stream does not wait for such a stream.
constexpr unsigned cuStreamNonBlocking = 1;
/// CUtensorMapDataType, CUtensorMapL2promotion.
constexpr int cuMapBfloat16 = 9, cuMapPromote256 = 3;

/// Functions are named as in the reference, but for "cu" in front.
struct CudaDriver {
  void *library = nullptr; ///< As dlopen gave it.
  CuResult (*init)(unsigned flags);
  CuResult (*deviceGetCount)(int *count);
  CuResult (*deviceGet)(CuDevice *device, int ordinal);
  CuResult (*deviceGetName)(char *name, int length, CuDevice device);
  CuResult (*deviceGetAttribute)(int *value, int attribute, CuDevice device);
  CuResult (*devicePrimaryCtxRetain)(CuContext *context, CuDevice device);
  CuResult (*devicePrimaryCtxRelease)(CuDevice device);
  CuResult (*ctxPushCurrent)(CuContext context);
  CuResult (*ctxPopCurrent)(CuContext *context);
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
  /// `status` becomes 0 where the stream is not being captured.
  CuResult (*streamIsCapturing)(CuStream stream, int *status);
  CuResult (*launchKernel)(CuFunction function, unsigned gridX, unsigned gridY, unsigned gridZ,
                           unsigned blockX, unsigned blockY, unsigned blockZ, unsigned sharedBytes,
                           CuStream stream, void **arguments, void **extra);
  CuResult (*ctxSynchronize)();
  CuResult (*funcSetAttribute)(CuFunction function, int attribute, int value);
  CuResult (*memsetD8Async)(CuPointer pointer, unsigned char value, size_t bytes, CuStream stream);
  CuResult (*eventCreate)(CuEvent *event, unsigned flags);
  CuResult (*eventDestroy)(CuEvent event);
  CuResult (*eventRecord)(CuEvent event, CuStream stream);
  CuResult (*eventElapsedTime)(float *milliseconds, CuEvent begin, CuEvent end);
  CuResult (*graphCreate)(CuGraph *graph, unsigned flags);
  /// Nodes run behind those of `behind`, `count` of them.
  CuResult (*graphAddKernelNode)(CuGraphNode *node, CuGraph graph, const CuGraphNode *behind,
                                 size_t count, const CuKernelNode *kernel);
  CuResult (*graphAddMemcpyNode)(CuGraphNode *node, CuGraph graph, const CuGraphNode *behind,
                                 size_t count, const CuCopyNode *copy, CuContext context);
  CuResult (*graphAddEventRecordNode)(CuGraphNode *node, CuGraph graph, const CuGraphNode *behind,
                                      size_t count, CuEvent event);
  CuResult (*graphInstantiate)(CuGraphExec *exec, CuGraph graph, unsigned long long flags);
  /// Launches that are under way keep what a node had before. `node` is of the graph that `exec`
  /// was made of, which must still be there.
  CuResult (*graphExecKernelNodeSetParams)(CuGraphExec exec, CuGraphNode node,
                                           const CuKernelNode *kernel);
  CuResult (*graphExecMemcpyNodeSetParams)(CuGraphExec exec, CuGraphNode node,
                                           const CuCopyNode *copy, CuContext context);
  CuResult (*graphLaunch)(CuGraphExec exec, CuStream stream);
  CuResult (*graphDestroy)(CuGraph graph);
  CuResult (*graphExecDestroy)(CuGraphExec exec);
  /// Null in drivers before CUDA 12; looked for where a kernel needs it.
  CuResult (*tensorMapEncodeTiled)(CuTensorMap *map, int type, unsigned rank, void *pointer,
                                   const uint64_t *sizes, const uint64_t *strides,
                                   const uint32_t *box, const uint32_t *elementStrides,
                                   int interleave, int swizzle, int promotion, int fill) = nullptr;
  CuResult (*getErrorString)(CuResult result, const char **text);
  /// Launches that overlap; looked for where kernels are made for it (CUDA 12.3).
  CuResult (*launchKernelEx)(const CuLaunchConfig *config, CuFunction function, void **arguments,
                             void **extra) = nullptr;
  CuResult (*graphAddDependencies)(CuGraph graph, const CuGraphNode *from, const CuGraphNode *to,
                                   const CuGraphEdge *edges, size_t count) = nullptr;
  /// What the watchdog of kernels writes to, memory of the host's; looked for where kernels have
  /// one.
  CuResult (*moduleGetGlobal)(CuPointer *pointer, size_t *bytes, CuModule module,
                              const char *name) = nullptr;
  CuResult (*memHostAlloc)(void **pointer, size_t bytes, unsigned flags) = nullptr;
  CuResult (*memHostGetDevicePointer)(CuPointer *pointer, void *host, unsigned flags) = nullptr;
  CuResult (*memFreeHost)(void *pointer) = nullptr;

  /// Fills the functions in: of ATTN_CUDA_PATH, a library or a folder of one, else of the system's.
  /// The error says what is missing. The library stays loaded.
  attn_status load(Error &error);
  /// Looks for tensorMapEncodeTiled; an error where there is none.
  attn_status loadTensorMaps(Error &error);
  /// Looks for what launches that overlap need.
  attn_status loadOverlap(Error &error);
  /// Looks for what a watchdog needs.
  attn_status loadWatchdog(Error &error);
  /// ATTN_OK, or an error "`what` failed: ..." in the driver's own words.
  attn_status check(CuResult result, const char *what, Error &error) const;
};

} // namespace attn
