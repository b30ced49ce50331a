// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The GPU's module as PTX: MLIR's part of the way (takeGpuCode), then LLVM's (generatePtx).
#pragma once

#include "compiler/target/GpuTarget.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Support/LLVM.h"
#include <memory>
#include <string>
#include <vector>

namespace mlir {
class DialectRegistry;
namespace gpu {
class GPUFuncOp;
} // namespace gpu
} // namespace mlir

namespace attn {

/// What takeGpuCode needs in a context.
void registerPtx(mlir::DialectRegistry &registry);

/// What the launch of a kernel needs to know (attn_abi_gpu_kernel); attributes of gpu.func
/// say it (dialect/Attributes.def).
struct GpuKernelInfo {
  /// The box of a tensor map, and its swizzle in bytes.
  struct TensorMap {
    int64_t swizzle;
    llvm::SmallVector<int64_t, 5> box;
  };
  std::string name;        ///< of its function, which PTX can have
  std::string kernel;      ///< what people see: "Block.mlp.fc1"; several functions may be of one
  int64_t threads;         ///< of a block
  int64_t blocks = 8;      ///< for each multiprocessor
  int64_t sharedBytes = 0; ///< of dynamic shared memory
  std::string cost;        ///< the attn.cost that it is one of or a part of; empty: none
  int64_t words;           ///< arguments but tensor maps
  std::vector<TensorMap> maps;
  mlir::LocationAttr location;        ///< of the op in the spec
  bool approximatesQuotients = false; ///< 2 units of the last place off at most

  /// Reads the attributes of a kernel's function.
  static GpuKernelInfo of(mlir::gpu::GPUFuncOp function);
};

/// Code for one kind of GPU.
struct GpuCode {
  /// LLVM's code, in a context of its own.
  struct Llvm;
  GpuCode();
  GpuCode(GpuCode &&);
  GpuCode &operator=(GpuCode &&);
  ~GpuCode();

  const GpuTarget *target = nullptr;  ///< a row of gpuTargets()
  std::vector<GpuKernelInfo> kernels; ///< by their numbers
  std::unique_ptr<Llvm> llvm;         ///< until there is PTX
  std::string ptx;
  std::string cubin; ///< of `ptx`; empty: none
};

/// Drops the functions of all kernels but one, and their launches, from a module of
/// attn-gpu-kernels.
void keepGpuKernel(mlir::ModuleOp module, llvm::StringRef kernel);

/// Takes the gpu.module out of `module` (attn-gpu-kernels) and lowers it to LLVM's code. Errors are
/// reported through MLIR's diagnostics. `hasLines`: its instructions say which lines of the spec
/// they are of.
mlir::FailureOr<GpuCode> takeGpuCode(mlir::ModuleOp module, bool hasLines = false);

/// Makes PTX of LLVM's code. Other codes' may be made at the same time.
void generatePtx(GpuCode &code);

} // namespace attn
