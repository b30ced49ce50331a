// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The passes of the llvm stage that are Attn's own, generated from Passes.td.
#pragma once

#include "mlir/Pass/Pass.h"
#include <memory>
#include <string>

namespace mlir {
class ModuleOp;
namespace arith {
class ArithDialect;
} // namespace arith
namespace LLVM {
class LLVMDialect;
} // namespace LLVM
namespace memref {
class MemRefDialect;
} // namespace memref
} // namespace mlir

namespace attn {

#define GEN_PASS_DECL
#define GEN_PASS_REGISTRATION
#include "compiler/emit/Passes.h.inc"

} // namespace attn
