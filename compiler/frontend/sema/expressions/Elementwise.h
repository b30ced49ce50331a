// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Operators and functions of elements: f32, integers and truth values, which do not mix.
#pragma once

#include "compiler/frontend/sema/expressions/ElementMaps.h"

namespace attn::frontend {

/// An operator of two sides, of which one at least is a tensor.
SemaValue binaryOfTensors(Sema &sema, const ast::BinaryExpr &binary, const ElementOperand &left,
                          const ElementOperand &right);

/// `-x` and `not x` of a tensor.
SemaValue unaryOfTensor(Sema &sema, const ast::UnaryExpr &unary, mlir::Value value);

/// `if c then a else b` of a tensor `c` of truth values: element by element.
SemaValue chooseElements(Sema &sema, const ast::IfExpr &choice);

/// Whether a condition is a tensor, and no condition of sizes and statics.
bool isTensorCondition(Sema &sema, const ast::Expr &expr);

/// `min(a, b)` and `max(a, b)`.
SemaValue callExtremum(Sema &sema, const ast::CallExpr &call, llvm::StringRef name);

/// `clamp(x, low, high)`, min(max(x, low), high).
SemaValue callClamp(Sema &sema, const ast::CallExpr &call);

/// `floor(x)`, and `floor(a / b)` of integers.
SemaValue callFloor(Sema &sema, const ast::CallExpr &call);

/// `abs(x)` of integers.
SemaValue absoluteOf(Sema &sema, const ast::CallExpr &call, mlir::Value value);

/// `float(x)`: integers and truth values as f32; `int(x)`: truth values as 0 and 1 in i32.
SemaValue callConversion(Sema &sema, const ast::CallExpr &call, llvm::StringRef name);

} // namespace attn::frontend
