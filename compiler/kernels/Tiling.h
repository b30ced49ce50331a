// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A kernel, alone in a function, and the workers among whom its units are divided: the threads of
// a CPU's team, or the warps or blocks of a GPU.
#pragma once

#include "compiler/kernels/Loops.h"
#include "compiler/target/VectorUnit.h"

namespace attn {

/// Pieces [from, to) of `count`, into which a kernel's units are cut evenly.
struct Pieces {
  mlir::Value from, to, count; ///< index

  /// Units [units * from / count, units * to / count).
  UnitShare of(IndexBuilder index, mlir::Value units) const;
};

/// Who computes a kernel, and with what. On CPUs: compiler/cpu/vectors/CpuTiling.h.
struct TilingContext {
  const VectorUnit &unit;
  mlir::Value thread, threads; ///< index: this worker's number, and how many there are
  /// Of a GPU's workers, neighbouring ones do neighbouring units, so that few units are on as many
  /// multiprocessors; a CPU's thread has runs of units, `pieces`.
  bool interleaves = false;
  Pieces pieces{};

  /// body(unit) of this thread's units out of [0, units), one after the other.
  void forEachUnit(IndexBuilder index, mlir::Value units,
                   llvm::function_ref<void(mlir::Value)> body) const;
};

} // namespace attn
