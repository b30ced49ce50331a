// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Steps of a run handed to the driver: copies, launches with their tensor maps, events.
#pragma once

#include "cuda/Code.h"

namespace attn {

/// What the driver is told to launch a kernel. Stays where it is: it points to itself.
struct PreparedLaunch {
  CuKernelNode node;
  void *pointers[GpuCode::mostWords + GpuCode::mostMaps];
  CuTensorMap maps[GpuCode::mostMaps];

  /// Prepares step `step` of a run, a launch whose maps are encoded.
  PreparedLaunch(const Recording &run, size_t step);
  PreparedLaunch(const PreparedLaunch &) = delete;
  PreparedLaunch &operator=(const PreparedLaunch &) = delete;
};

/// The first launch of a run that failed.
struct Failure {
  CuResult result = 0;
  int64_t kernel = 0;
  int32_t map = -1;                       ///< Its tensor map that was refused; -1: none.
  int64_t numbers[2 * ATTN_MAX_MAP_RANK]; ///< That map's pointer, sizes, strides.
};

/// Issues recorded steps on a GPU's current stream. Inside of an EnteredGpu.
class Launcher {
public:
  Launcher(GpuDevice &device, const GpuCode &code) : device(device), code(code) {}
  Launcher(const Launcher &) = delete;
  Launcher &operator=(const Launcher &) = delete;

  /// Encodes the maps of a run, but those that `before`, which is like it, has already.
  attn_status encodeMaps(Recording &run, const Recording *before, Error &error);
  /// Steps [first, end) of a run one by one.
  attn_status issue(const Recording &run, size_t first, size_t end, Error &error);
  /// The error of `failure`.
  attn_status reportFailure(Error &error) const;

  GpuDevice &device;
  const GpuCode &code;
  Failure failure; ///< Of the run that begins.

private:
  /// Hands one launch to the stream.
  CuResult launch(const CuKernelNode &node, bool startsEarly);
  /// Encodes a tensor map of these numbers, 128 bytes.
  CuResult encode(const attn_abi_tensor_map &map, const int64_t *numbers, char *encoded);
};

} // namespace attn
