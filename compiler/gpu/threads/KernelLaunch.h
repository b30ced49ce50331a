// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How kernels are launched, and who writes the code of a launch.
#pragma once

#include "compiler/gpu/threads/GpuLane.h"
#include "compiler/gpu/threads/Hopper.h"
#include "compiler/kernels/Tiling.h"
#include "compiler/target/GpuTarget.h"
#include <functional>
#include <string>
#include <vector>

namespace attn {

/// Who divides a kernel's work.
enum class WorkerKind { Warp, Block };

/// How a kernel is launched: one of several ways to compute an op, of which the host takes the
/// first whose condition holds.
struct KernelLaunch {
  int64_t threads = blockThreads;
  int64_t sharedBytes = 0; ///< of dynamic shared memory
  int64_t blocks = 8;      ///< for each multiprocessor
  int64_t resident = 0;    ///< of these, how many registers are to do for; 0: any number
  std::vector<TensorMap> maps = {};
  mlir::Value condition = {}; ///< an i1 of the host's; null: always
  std::string suffix = {};    ///< of its function's name: ".rows4"
  WorkerKind workers = WorkerKind::Block;
  /// Writes the code of the kernel op before it, in a gpu.func, where the context's threads are the
  /// workers and `maps` the function's arguments; leaves the op to be erased. Errors are reported
  /// at the op.
  std::function<mlir::LogicalResult(mlir::Operation *kernel, const TilingContext &context,
                                    mlir::ValueRange maps)>
      emit = {};
};

/// What launches are chosen by.
struct LaunchOptions {
  const GpuTarget &target;
  int64_t multiprocessors;
  bool bulkStores; ///< Hopper's linears store through shared memory
};

/// All launches of a kernel; none where it is nothing on a GPU.
using KernelLaunches = mlir::FailureOr<llvm::SmallVector<KernelLaunch>>;

} // namespace attn
