// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which kernels compute a linear: that for few rows first, then by what is multiplied.
#include "compiler/gpu/linear/Linear.h"

using namespace mlir;
using namespace attn;

static KernelLaunches launchesOfManyRows(LinearKernelOp op, const LaunchOptions &options) {
  if (!op.getQuantization().empty()) { // rows of bytes
    auto launch = launchByteLinear(op);
    if (failed(launch))
      return failure();
    return SmallVector<KernelLaunch>{*launch};
  }
  return options.target.hasWarpGroups && isHopperLinear(op) ? launchHopperLinear(op, options)
                                                            : launchLinearBlocks(op, options);
}

KernelLaunches attn::launchesOf(LinearKernelOp op, const LaunchOptions &options) {
  auto launches = launchFewRowsLinear(op, options);
  if (failed(launches) || (!launches->empty() && !launches->back().condition))
    return launches;
  auto more = launchesOfManyRows(op, options);
  if (failed(more))
    return failure();
  launches->append(*more);
  return launches;
}
