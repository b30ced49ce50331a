// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Where every parameter lies in the packed block: matrices of linears in panels, all else row by
// row, in f32, or in 16 bits what is only looked up (rowPrecision). Panels are [columns / 48][k /
// g][48][g]: g neighbours along k make up four bytes, 1 of f32, 2 of bf16 and f16, 4 of int8, 8 of
// int4. Of bf16, f16 and int8, k / g is padded with zeros to whole tile registers (AMX) of 16
// groups. Behind those of int8 stand the scale of every column (f32) and the sum of its weights
// (i32), with the last panel's padding. Of int4, byte i of a group holds number i plus 8 in its
// lower half and number 4 + i plus 8 in its upper one. Behind the panels stand lines in f16,
// [columns / 48][k / 32][2][48]: of 32 weights along k the scale and 16 times the offset, weight =
// scale * (number + offset); then the sum of every column's weights (f32), and for many rows, which
// read panels as int8, the columns' scales and sums as of int8. Of int8 in groups of 32, bytes are
// numbers, and behind the panels stands the same without offsets. Slots stand in the order in which
// they are first used, those of a stack's layer together, so that a forward pass reads the block
// from front to back.
#pragma once

#include "dialect/AttnDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/MathExtras.h"

namespace attn {

/// Columns of a panel; one layout serves all CPU levels (8 x 48 blocks with AVX-512, 4 x 24 with
/// AVX2).
constexpr int64_t panelWidth = 48;

/// What weights of linears are stored in.
constexpr Precision storedPrecision(Precision precision) {
  return precision == Precision::TF32 ? Precision::F32 : precision;
}

/// What tables are stored in whose rows are only looked up: of what is smaller than 16 bits, f16
/// has the more exact ones.
constexpr Precision rowPrecision(Precision precision) {
  Precision stored = storedPrecision(precision);
  return stored == Precision::F32 || stored == Precision::BF16 ? stored : Precision::F16;
}

/// Neighbours along k that stand side by side in a panel.
constexpr int64_t panelGroup(Precision precision) {
  switch (precision) {
  case Precision::F32:
  case Precision::TF32:
    return 1;
  case Precision::BF16:
  case Precision::F16:
    return 2;
  case Precision::Int8:
  case Precision::Int8Groups:
    return 4;
  case Precision::Int4:
    return 8;
  }
  llvm_unreachable("every precision has its panels");
}

/// Whether weights are pairs of 16 bits.
constexpr bool isHalf(Precision precision) {
  return precision == Precision::BF16 || precision == Precision::F16;
}

/// Weights along k that share a line, of int4, or a scale, of int8 in groups.
constexpr int64_t scaleGroup = 32;

/// Whether there are such.
constexpr bool hasGroups(Precision precision) {
  return precision == Precision::Int4 || precision == Precision::Int8Groups;
}

/// Numbers in f16 that a column has for each of them: the scale, and of int4 the offset.
constexpr int64_t lineNumbers(Precision precision) { return precision == Precision::Int4 ? 2 : 1; }

/// Elements of the panels' buffer that make up four bytes: bytes hold the pairs of int4.
constexpr int64_t panelWords(Precision precision) {
  return precision == Precision::Int4 ? 4 : panelGroup(precision);
}

/// Rows are read by so many elements.
constexpr int64_t rowGranule(Precision precision) {
  return hasGroups(precision) ? scaleGroup : panelGroup(precision);
}

/// Whether rows are multiplied as bytes.
constexpr bool takesBytes(Precision precision) {
  return precision == Precision::Int8 || hasGroups(precision);
}

/// Groups in a panel of k rows, the padding included.
inline int64_t panelGroups(int64_t k, Precision precision) {
  int64_t groups = llvm::divideCeil(k, panelGroup(precision));
  if (hasGroups(precision))
    return llvm::alignTo(groups, scaleGroup / panelGroup(precision));
  return storedPrecision(precision) == Precision::F32 ? groups : llvm::alignTo(groups, 16);
}

/// Elements of the panels' buffer of `slot`, the padding included: what comes before the scales.
int64_t panelElements(SlotOp slot);
/// How many scales of int8, or numbers of lines of groups, follow.
int64_t panelScales(SlotOp slot);

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
