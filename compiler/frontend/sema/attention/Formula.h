// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a formula of a score, bias, mask or sink is evaluated to, and the context that it is
// evaluated in.
#pragma once

#include "compiler/frontend/sema/attention/AttentionRegions.h"
#include "dialect/Locations.h"

namespace attn::frontend {

/// Where a formula's ops go, and what its names stand for: the context of all functions that
/// evaluate formulas.
struct Formula {
  Sema &sema;
  ast::HookDecl::Hook hook;
  mlir::OpBuilder &builder;
  mlir::Location loc;
  std::map<std::string, FormulaValue> names = {};
  AttentionRegions *regions = nullptr;             ///< null for numbers alone
  std::map<std::string, mlir::Value> tensors = {}; ///< the hook's params and inputs
  /// Of the hook's inputs, how many axes in front its block does not speak of.
  std::map<std::string, size_t> lifted = {};
  std::map<std::string, Decl *> maps = {}; ///< the hook's linear maps
  bool isLine = false; ///< of an attend, where any tensor of that place can be read
  bool isSink = false;
  /// For a hook that is applied in another formula, all positions that this formula names.
  const std::map<std::string, FormulaValue> *positions = nullptr;
  /// Which of the functions being built has axes with the names that stand here.
  size_t frame = SIZE_MAX;
  std::string words = {}; ///< of the spec, for the whole formula

  /// The formula's place, with its words.
  mlir::Location spoken() const { return inWords(loc, words); }
  /// "score", "bias", "mask" or "sink".
  llvm::StringRef what() const;
  bool isScore() const { return hook == ast::HookDecl::Hook::Score; }
  /// "a mask consists of …".
  llvm::StringRef consistsOf() const;
  /// "b, h, i, j".
  std::string listNames() const;
  FormulaValue truth(bool value) const;
  /// A position, or a number that can be one.
  bool isWhole(const FormulaValue &value) const;
  /// That, or a number without a fraction.
  bool hasNoFraction(const FormulaValue &value) const;
  mlir::Value position(const FormulaValue &value) const;
  static Interval rangeOf(const FormulaValue &value);
  /// A number or a position as f32; a number as a vector where `like` is one.
  mlir::Value scalar(const FormulaValue &value) const;
  mlir::Value vector(const FormulaValue &value, mlir::Type like) const;
  /// A formula of another hook that is applied in this one: nothing is named in it yet.
  Formula inner() const {
    Formula formula{sema, hook, builder, loc, {}, regions};
    formula.positions = positions ? positions : &names;
    formula.frame = frame;
    return formula;
  }
};

/// What a value that is calculated of both depends on.
FormulaValue::Side join(FormulaValue::Side a, FormulaValue::Side b);
/// A function of one number, such as `tanh`, as an op on scalars or vectors.
mlir::Value createFunction(llvm::StringRef name, mlir::OpBuilder &builder, mlir::Location loc,
                           mlir::Value x);
/// `+ - * /` as an op on f32 or vectors of it.
mlir::Value createArithmetic(ast::BinaryOp op, mlir::OpBuilder &builder, mlir::Location loc,
                             mlir::Value a, mlir::Value b);

} // namespace attn::frontend
