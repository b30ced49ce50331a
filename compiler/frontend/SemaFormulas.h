// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a formula of a score, bias or mask is evaluated to.
#pragma once

#include "compiler/frontend/SemaImpl.h"

namespace attn::frontend {

/// A value of a formula. `Number` and nothing else is known when compiling.
struct FormulaValue {
  enum class Kind {
    Error,    ///< reported
    Number,   ///< `number`
    Scalar,   ///< f32
    Position, ///< index: of the query or the key along an axis, and what is calculated from it
    Truth,    ///< i1
    Vector    ///< tensor<E>: the query or the key
  } kind = Kind::Error;
  double number = 0;
  mlir::Value value;
};

/// Where a formula's ops go, and what its names stand for.
struct Formula {
  ast::HookDecl::Hook hook;
  mlir::OpBuilder &builder;
  mlir::Location loc;
  std::map<std::string, FormulaValue> names = {};
  int64_t features = 0;      ///< of the vectors of a score
  bool appliesHooks = false; ///< a line of an attend, where declared biases and masks are applied

  /// "score", "bias" or "mask".
  llvm::StringRef what() const;
  /// "a mask consists of …".
  llvm::StringRef consistsOf() const;
  /// "b, h, i, j".
  std::string listNames() const;
  FormulaValue truth(bool value) const;
  /// A position, or a number that can be one.
  bool isWhole(const FormulaValue &value) const;
  mlir::Value position(const FormulaValue &value) const;
  /// A number or a position as f32.
  mlir::Value scalar(const FormulaValue &value) const;
};

} // namespace attn::frontend
