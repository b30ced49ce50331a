// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The target-independent passes, generated from Passes.td.
#pragma once

#include "mlir/Pass/Pass.h"
#include <memory>

namespace mlir {
class ModuleOp;
namespace arith {
class ArithDialect;
} // namespace arith
namespace memref {
class MemRefDialect;
} // namespace memref
} // namespace mlir
namespace mlir::func {
class FuncOp;
} // namespace mlir::func

namespace attn {
class AttnDialect;

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/transforms/Passes.h.inc"

/// Registers the passes above for attn-opt.
inline void registerAttnPasses() { registerAttnTransformsPasses(); }

} // namespace attn
