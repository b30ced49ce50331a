// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The pieces of a kernel that a thread computes: first its own, then those that other threads have
// not come to, so that a team ends a kernel together where its threads are not equally fast.
#pragma once

#include "compiler/kernels/Tiling.h"
#include "compiler/transforms/OutlineKernel.h"
#include "dialect/AttnDialect.h"

namespace attn {

/// Whether any thread may compute any piece: not where another kernel without a barrier between
/// them relies on the same threads for the same pieces, and not what one thread does for all.
bool isShared(mlir::Operation *kernel);

/// Adds pieces to the arguments of an outlined kernel's function, before the thread and their
/// number, and has the call pass those that the thread claims, or where they are not shared the
/// thread's own. `cost`, which may be null: of the kernel. Kernels of little work are divided once.
Pieces passPieces(OutlinedKernel &outlined, bool areShared, CostOp cost);

} // namespace attn
