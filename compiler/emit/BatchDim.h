// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which dim counts a batch: inputs that an entry computes one by one, so that those of several
// callers may be computed in one run. Derived from the attn stage, by what an entry does along it.
#pragma once

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include <string>

namespace attn {

/// The name of the dim of an entry along which element b of all outputs depends on element b of the
/// inputs alone, and not on how many there are; empty where there is none, or none is seen to be
/// one. Every input and output has exactly one axis of it.
std::string batchDim(mlir::ModuleOp model, mlir::FunctionOpInterface entry);

} // namespace attn
