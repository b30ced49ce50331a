// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The attn dialect: attributes, ops, and what every user of a tensor with named axes needs.
#pragma once

#include "dialect/Attributes.h"
#include "dialect/ComputeInterfaces.h"
#include "dialect/KernelInterfaces.h"
#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialect/AttnDialect.h.inc"
#include "dialect/AttnEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialect/AttnAttrs.h.inc"

namespace attn {

/// The most elements that a tensor may have, of its static axes: sizes multiply and add up without
/// overflow.
constexpr int64_t maxElements = int64_t(1) << 48;

/// The product of static sizes; nothing where one is negative or the product above `maxElements`.
std::optional<int64_t> countElements(llvm::ArrayRef<int64_t> sizes);

/// Whether `type` is a ranked tensor of an element type that models have, whose encoding names its
/// axes, dynamic ones by a linear size.
bool isAxesTensor(mlir::Type type);

/// Whether every axis has a name of its own; all tensors but weights do.
bool hasDistinctAxes(mlir::Type type);

/// The names of a tensor's axes, outermost first.
llvm::ArrayRef<mlir::StringAttr> axesOf(mlir::Type type);

/// The position of axis `name` in `type`, or -1.
int64_t axisIndex(mlir::Type type, llvm::StringRef name);

/// A tensor type with named axes.
mlir::RankedTensorType axesTensor(mlir::Type element, llvm::ArrayRef<int64_t> shape,
                                  llvm::ArrayRef<mlir::StringAttr> names);

/// `type` without an axis.
mlir::RankedTensorType withoutAxis(mlir::RankedTensorType type, int64_t axis);

/// `step` with an axis of `whole` more, at position `at`, or at the end where it has fewer axes.
mlir::RankedTensorType withAxisOf(mlir::RankedTensorType step, mlir::RankedTensorType whole,
                                  int64_t axis, int64_t at);

/// What an axis is called: all of its name, or what stands before the colon of a dynamic one.
llvm::StringRef axisLabel(llvm::StringRef name);

/// The precision that a weight is to be multiplied in, where its parameter says one.
std::optional<Precision> saidPrecision(mlir::Value weight);

/// A dynamic axis' size: scale * dim + offset, read from its name ("B", "2*T + 1", "S:T").
struct LinearSize {
  llvm::StringRef dim;
  int64_t scale = 1, offset = 0;
};
/// Reads a dynamic axis' name; nothing if it is no linear expression of one dim.
std::optional<LinearSize> parseLinearSize(llvm::StringRef name);

/// The tensor that `value` is with other axis names.
mlir::Value withoutRelabels(mlir::Value value);

/// The size of an axis, as an index.
mlir::Value createAxisSize(mlir::OpBuilder &builder, mlir::Location loc,
                           mlir::RankedTensorType type, int64_t axis);

} // namespace attn

#define GET_OP_CLASSES
#include "dialect/AttnOps.h.inc"
