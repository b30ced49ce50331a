// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Linears on a CPU: memory -> tiled (TileLinear.cpp, LinearAmx.cpp) and tiled -> kernels
// (VectorizeLinear.cpp, LinearAmx.cpp).
#pragma once

#include "compiler/cpu/vectors/CpuTiling.h"
#include "compiler/kernels/LinearShape.h"
#include "dialect/AttnDialect.h"
#include <string>

namespace attn {

/// Writes loops over tile ops before `op`, leaves `op` to be erased, and says which tiles it chose.
/// Errors are reported at the op.
mlir::FailureOr<std::string> tileLinear(LinearKernelOp op, const CpuTiling &context);
/// The scales and sums of a linear's products: those of int8 where groups are.
llvm::SmallVector<mlir::Value> multipliedQuantization(LinearKernelOp op);
/// Whether a linear is computed in tile registers, which is tileLinearAmx's.
bool usesTileRegisters(LinearKernelOp op, const LinearShape &shape, const CpuTarget &target);
/// `builder` says where loops are written. Groups are multiplied as int8.
mlir::FailureOr<std::string> tileLinearAmx(LinearKernelOp op, const LinearShape &shape,
                                           const CpuTiling &context,
                                           const mlir::OpBuilder &builder);

/// Replaces the tiles of linears in `root` by vector code: those on vectors, and those on tile
/// registers.
mlir::LogicalResult vectorizeLinearTiles(mlir::Operation *root, const CpuTarget &target);
/// The same of what widens parts of panels for them.
void vectorizeWidening(mlir::Operation *root, const CpuTarget &target);
mlir::LogicalResult vectorizeLinearAmxTiles(mlir::Operation *root, const CpuTarget &target);

} // namespace attn
