// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where every parameter lies in the packed block: matrices of linears in panels, all else row by
// row, in f32, or in 16 bits what is only looked up (rowPrecision). abi.h says what each format's
// panels consist of (ATTN_PACK_PANELS*), panels.h how large they are. Slots stand in the order in
// which they are first used, those of a stack's layer together, so that a forward pass reads the
// block from front to back.
#pragma once

#include "dialect/WeightFormat.h"
#include "mlir/IR/BuiltinOps.h"

namespace attn {

/// Columns of the widest panel, which is GPUs', too: slots are padded to multiples of it. Panels of
/// a CPU level divide it (CpuTarget::panelWidth), so that a slot has the same places on all levels.
constexpr int64_t panelWidth = 48;

/// Gives parameters their slots while a model is planned, and then the slots their places.
class ParameterLayout {
public:
  explicit ParameterLayout(mlir::ModuleOp module) : module(module), symbols(module) {}

  /// The slot that holds `params` side by side: panels of [k][columns] where k is not 0, else one
  /// row of f32, bf16 or f16.
  SlotOp slot(llvm::ArrayRef<ParamOp> params, int64_t k, Precision precision = Precision::F32);

  /// The slot that holds a table of angles: rows of f32, one for each position.
  SlotOp slot(AnglesAttr angles, mlir::Location loc);

  /// Gives every slot its offset, once all are known.
  void place();

private:
  /// Adds a slot, which gets its place last.
  SlotOp add(SlotOp slot);

  mlir::ModuleOp module;
  mlir::SymbolTable symbols;
  llvm::DenseMap<AnglesAttr, SlotOp> tables;
  llvm::SmallVector<SlotOp> slots;
};

} // namespace attn
