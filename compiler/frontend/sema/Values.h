// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the front end computes with: sizes, axes, values of expressions, owners of parameters. None
// of them knows where it was computed.
#pragma once

#include "dialect/AttnDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/SmallVector.h"
#include <optional>
#include <string>

namespace attn::frontend {

/// A size: `offset`, or `scale * dim + offset` in one dim that is known only when running.
struct Size {
  std::string dim;
  int64_t scale = 0, offset = 0;
  bool error = false;     ///< Reported already.
  std::string label = ""; ///< Of a dim that is another name for one known only when running.

  /// A size that is known.
  static Size of(int64_t value) { return {"", 0, value, false}; }
  /// A size about which an error has been reported: 1, so that what follows can go on.
  static Size wrong() { return {"", 0, 1, true}; }
  /// Whether the size is known when compiling.
  bool isStatic() const { return dim.empty(); }
};

/// An axis: its name is its identity. `size` is mlir::ShapedType::kDynamic for a dynamic one, whose
/// name is its size, with what it is called and a colon before that where it differs.
struct Axis {
  std::string name;
  int64_t size = 1;

  /// Whether the axis has a size that is known only when running.
  bool isDynamic() const { return mlir::ShapedType::isDynamic(size); }
  bool operator==(const Axis &other) const { return name == other.name && size == other.size; }
  bool operator!=(const Axis &other) const { return !(*this == other); }
};
/// The axes of a tensor, outermost first.
using Axes = llvm::SmallVector<Axis, 4>;

struct Decl;

/// What an expression is.
struct SemaValue {
  /// What kind of value it is, and which of the fields hold it.
  enum class Kind { Error, Number, Tensor, Cache, Zeros };
  Kind kind = Kind::Error;
  double number = 0;
  mlir::Value tensor;
  Decl *cache = nullptr;

  /// The value of what an error has been reported for.
  static SemaValue wrong() { return {}; }
  /// A number, a tensor, a cache.
  static SemaValue of(double number) { return {Kind::Number, number, {}}; }
  static SemaValue of(mlir::Value tensor) { return {Kind::Tensor, 0, tensor}; }
  static SemaValue of(Decl *cache) { return {Kind::Cache, 0, {}, cache}; }
  /// A state that begins with zeros, of the axes that its cell says.
  static SemaValue zeros() { return {Kind::Zeros, 0, {}}; }
  /// Whether the value is of a kind.
  bool isCache() const { return kind == Kind::Cache; }
  bool isZeros() const { return kind == Kind::Zeros; }
  bool isError() const { return kind == Kind::Error; }
  bool isNumber() const { return kind == Kind::Number; }
  bool isTensor() const { return kind == Kind::Tensor; }
};

/// A stack around a block.
struct StackLevel {
  std::string name;
  int64_t layers = 1;
  bool isShared = false;   ///< All layers have the same parameters, and no number in names.
  std::string placeholder; ///< What stands for the layer's number in the owner's prefix: "{0}".
  std::string before;      ///< What stands before that.
};

/// Whose parameters: the model's own, or those of the layers of stacks.
struct Owner {
  std::string prefix;             ///< Of tensor names: "", "blocks.{0}.", "stages.{0}.blocks.{1}."
  std::string symbolPrefix;       ///< Of the names of attn.param: "", "blocks.", "stages.blocks."
  std::vector<StackLevel> levels; ///< The stacks around, outermost first.
  int64_t layerCount = 1;         ///< Of all of them: layers of the innermost in all.
  bool inStack = false;
};

/// A parameter as an attn.param. Without a type: reported as wrong.
struct ParamRef {
  std::string symbol;
  mlir::RankedTensorType type;
  llvm::SmallVector<size_t, 2> levels; ///< Which of its owner's have parameters of their own.
  SourceAttr source;
};

/// `value` as an f32.
inline mlir::Value constantOf(mlir::OpBuilder &builder, mlir::Location loc, double value) {
  return mlir::arith::ConstantOp::create(builder, loc,
                                         builder.getF32FloatAttr(static_cast<float>(value)));
}

} // namespace attn::frontend
