// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What there is to choose for the kernels of a model, and what is worth measuring.
#pragma once

#include "compiler/cpu/linear/LinearTiling.h"
#include "compiler/transforms/AttentionShape.h"
#include <vector>

namespace attn {

/// The kernels of one name: they share what is measured and chosen.
struct TunableKernel {
  std::string name;                   ///< as in a file of measured choices
  llvm::SmallVector<int32_t> numbers; ///< in profiles

  /// In an order in which they may be chosen one after the other.
  llvm::ArrayRef<Knob> knobs() const;
  /// Values of a knob that make code do something else than `current` does.
  llvm::SmallVector<int64_t> alternatives(Knob knob, const KernelChoice &current) const;

  // The shape of the first of these kernels; one of both is set.
  std::optional<LinearShape> linear;
  std::optional<AttentionProblem> attention;
  int64_t rows = 0;     ///< of a linear that is measured
  bool hasRows = false; ///< whether all have so many
  CpuTarget target;
};

/// The kernels of a module of the `memory` stage, for a CPU level; `dims` are the sizes of the
/// dynamic dims that will be measured, in order.
std::vector<TunableKernel> tunableKernels(mlir::ModuleOp memory, const CpuTarget &target,
                                          llvm::ArrayRef<int64_t> dims);

} // namespace attn
