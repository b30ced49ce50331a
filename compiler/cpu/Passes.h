// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The passes that know the CPU level, generated from Passes.td.
#pragma once

#include "mlir/Pass/Pass.h"
#include <memory>
#include <string>

namespace mlir {
class ModuleOp;
namespace arith {
class ArithDialect;
} // namespace arith
namespace func {
class FuncDialect;
} // namespace func
namespace LLVM {
class LLVMDialect;
} // namespace LLVM
namespace math {
class MathDialect;
} // namespace math
namespace memref {
class MemRefDialect;
} // namespace memref
namespace scf {
class SCFDialect;
} // namespace scf
namespace ub {
class UBDialect;
} // namespace ub
namespace vector {
class VectorDialect;
} // namespace vector
} // namespace mlir

namespace attn {
class AttnDialect;

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/cpu/Passes.h.inc"

} // namespace attn
