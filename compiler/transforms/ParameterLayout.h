// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where every parameter lies in the packed block: matrices of linears in panels, all else row by
// row. Slots stand in the order in which they are first used, those of a stack's layer together, so
// that a forward pass reads the block from front to back.
#pragma once

#include "dialect/AttnDialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace attn {

/// Columns of a panel; one layout serves all CPU levels (8 x 48 blocks with AVX-512, 4 x 24 with
/// AVX2).
constexpr int64_t panelWidth = 48;

class ParameterLayout {
public:
  explicit ParameterLayout(mlir::ModuleOp module) : module(module), symbols(module) {}

  /// The slot that holds `params` side by side: panels of [k][columns] where k is not 0, else one
  /// row.
  SlotOp slot(llvm::ArrayRef<ParamOp> params, int64_t k);

  /// Gives every slot its offset, once all are known.
  void place();

private:
  mlir::ModuleOp module;
  mlir::SymbolTable symbols;
  llvm::SmallVector<SlotOp> slots;
};

} // namespace attn
