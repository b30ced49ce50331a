// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a model wants of a checkpoint.
#pragma once

#include "Checkpoints.h"
#include "mlir/IR/BuiltinOps.h"

namespace attn::tool {

/// The checkpoint's tensors that the model's parameters are read from, each once.
std::vector<WantedTensor> wantedTensors(mlir::ModuleOp model);

/// The patterns of tensors that the spec leaves out on purpose.
std::vector<std::string> ignoredPatterns(mlir::ModuleOp model);

} // namespace attn::tool
