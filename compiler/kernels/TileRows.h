// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// memory -> tiled, of kernels on rows: CPUs' threads and GPUs' warps share the rows, or pieces of
// rows where those are few.
#pragma once

#include "compiler/kernels/Tiling.h"
#include "mlir/IR/Operation.h"
#include <string>

namespace attn {

/// Writes loops over the tiles of a kernel on rows before it, leaves it to be erased, and says how
/// it was cut: "row by row".
std::string tileRows(mlir::Operation *kernel, const TilingContext &context);

} // namespace attn
