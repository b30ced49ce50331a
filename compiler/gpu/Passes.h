// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The passes that know the GPU, generated from Passes.td.
#pragma once

#include "mlir/Pass/Pass.h"
#include <memory>
#include <string>

namespace mlir {
class ModuleOp;
namespace arith {
class ArithDialect;
} // namespace arith
namespace gpu {
class GPUDialect;
} // namespace gpu
namespace LLVM {
class LLVMDialect;
} // namespace LLVM
namespace math {
class MathDialect;
} // namespace math
namespace memref {
class MemRefDialect;
} // namespace memref
namespace NVVM {
class NVVMDialect;
} // namespace NVVM
namespace scf {
class SCFDialect;
} // namespace scf
namespace vector {
class VectorDialect;
} // namespace vector
} // namespace mlir

namespace attn {
class AttnDialect;

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/gpu/Passes.h.inc"

} // namespace attn
