// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A GPU as the driver gives it: its context, a stream, memory. Nothing here knows of models.
#pragma once

#include "cuda/Driver.h"

namespace attn {

/// Device memory that grows; what was in it is lost then.
struct DeviceMemory {
  CuPointer pointer = 0;
  size_t bytes = 0;
};

/// One GPU, and the stream on it that work goes to. The driver's functions are called through it.
struct GpuDevice {
  GpuDevice() = default;
  GpuDevice(const GpuDevice &) = delete;
  GpuDevice &operator=(const GpuDevice &) = delete;

  /// Loads the driver and looks for GPU number `wanted`.
  attn_status find(int32_t wanted, Error &error);
  /// Retains the GPU's context, which everything below needs.
  attn_status retain(Error &error);
  /// Makes the GPU's own stream. Inside of an EnteredGpu.
  attn_status makeStream(Error &error);
  /// Gives the context up, behind all else.
  void release();

  /// Has the driver compile PTX. Inside of an EnteredGpu.
  attn_status loadPtx(const char *ptx, CuModule &loaded, Error &error) const;
  /// Makes room for `bytes`; an error says what for.
  attn_status grow(DeviceMemory &memory, size_t bytes, const char *what, Error &error);
  void free(DeviceMemory &memory);
  /// Waits for runs that nobody waited for: their memory is about to go, or to be used elsewhere.
  void settle();
  CuStream currentStream() const { return callersStream ? callersStream : stream; }
  /// Whether what is asked for now becomes a graph of the caller's, in which a graph of an entry's
  /// could not be updated.
  bool isCaptured() const;

  CudaDriver driver;
  CuDevice handle = 0;
  int32_t number = 0;
  char label[256] = "?";
  int capability = 0, multiprocessors = 1;
  CuContext context = nullptr; ///< Null until retained.
  CuStream stream = nullptr, callersStream = nullptr;
  bool isPending = false; ///< Whether a run may be under way that nobody waited for.
};

/// Makes a GPU's context the thread's current one, until it ends: then it is the caller's again.
class EnteredGpu {
public:
  EnteredGpu(const GpuDevice &device, Error &error)
      : driver(device.driver), isEntered(driver.check(driver.ctxPushCurrent(device.context),
                                                      "taking the GPU", error) == ATTN_OK) {}
  EnteredGpu(const EnteredGpu &) = delete;
  EnteredGpu &operator=(const EnteredGpu &) = delete;
  ~EnteredGpu();
  explicit operator bool() const { return isEntered; }

private:
  const CudaDriver &driver;
  bool isEntered;
};

} // namespace attn
