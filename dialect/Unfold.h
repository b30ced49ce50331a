// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where the entries that an attn.unfold runs get their inputs from.
#pragma once

#include "dialect/AttnDialect.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace attn {

/// Of an input of `step`, where it comes from, -1 where it does not: in the first step from an
/// input of the unfolding or a result of `first`, later from a result of the step before, if there
/// is one. All -1: it takes the tokens.
struct UnfoldSource {
  int32_t input = -1, first = -1, step = -1;
};

/// How an attn.unfold passes tensors on. Entries are functions whose arguments and results have
/// names (`attn.name`).
struct UnfoldWiring {
  /// Of entries `first` and `step`, whose input `token` takes the tokens.
  UnfoldWiring(mlir::FunctionOpInterface first, mlir::FunctionOpInterface step, int64_t token,
               bool hasBegin);

  llvm::SmallVector<UnfoldSource> sources; ///< Of `step`'s inputs.
  /// Inputs of `step` that the unfolding takes behind those of `first`.
  llvm::SmallVector<int32_t> own;
  /// Results of `step` that it does not take: each step's stays.
  llvm::SmallVector<int32_t> stacked;
};

/// The name of argument or result `number` of an entry; empty where it has none.
llvm::StringRef inputName(mlir::FunctionOpInterface entry, unsigned number);
llvm::StringRef outputName(mlir::FunctionOpInterface entry, unsigned number);

} // namespace attn
