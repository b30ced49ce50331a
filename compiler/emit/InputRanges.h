// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which integers an input should hold so that a run with random numbers says something: lengths up
// to the axis that a mask compares them with, positions on theirs, the token that a mask leaves
// out. Derived from the attn stage, by what an entry does with the input.
#pragma once

#include "compiler/emit/ModelInfo.h"
#include "mlir/IR/BuiltinOps.h"
#include <optional>

namespace attn {

/// The range of an entry's argument of integers; none where nothing is known of it.
///   j < lengths[b], j along T   1 to T
///   j <= position[b]            0 to T - 1
///   ids[b, j] != 0              0 now and then, beside what a lookup says
std::optional<InputRange> inputRange(mlir::ModuleOp model, mlir::BlockArgument argument);

} // namespace attn
