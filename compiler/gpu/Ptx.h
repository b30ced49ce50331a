// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The GPU's module as PTX.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/LLVM.h"
#include <string>
#include <vector>

namespace mlir {
class DialectRegistry;
} // namespace mlir

namespace attn {

/// What emitPtx needs in a context.
void registerPtx(mlir::DialectRegistry &registry);

struct GpuKernelInfo {
  std::string name;
  int32_t threads; ///< of a block
};

/// Code for one kind of GPU.
struct GpuCode {
  std::string chip;                   ///< "sm_80"
  std::vector<GpuKernelInfo> kernels; ///< by their numbers
  std::string ptx;
};

/// Takes the gpu.module out of `module` (attn-gpu-kernels) and lowers it to PTX. Errors are
/// reported through MLIR's diagnostics.
mlir::FailureOr<GpuCode> takeGpuCode(mlir::ModuleOp module);

} // namespace attn
