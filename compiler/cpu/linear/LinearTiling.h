// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The sizes that a linear is cut into: by default from a model of the target, or as measured.
#pragma once

#include "compiler/kernels/LinearShape.h"
#include "compiler/target/CpuTarget.h"
#include "compiler/transforms/KernelChoice.h"
#include <optional>

namespace attn {

/// How large the pieces of a linear are.
struct LinearTiling {
  int64_t rows, columns; ///< of a register block: rows at most
  int64_t depth;       ///< steps of the outermost contracted dim in a part; the last may have fewer
  int64_t groupBlocks; ///< blocks that go through all panels of a part together, at most
  int64_t unroll;      ///< steps in an iteration of the innermost loop

  /// The tiling of a linear with so many rows; without a number, of any linear of this shape.
  static LinearTiling of(const LinearShape &shape, const CpuTarget &target,
                         const KernelChoice &choice, std::optional<int64_t> rowCount);

  /// Whether the code does the same with so many rows.
  bool isSameFor(const LinearTiling &other, int64_t rowCount) const;
};

/// What measured choices know a linear by: "linear f32, at least 197 rows of 768 -> 2304".
std::string linearName(LinearKernelOp op, const LinearShape &shape);

} // namespace attn
