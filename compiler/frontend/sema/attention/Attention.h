// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `attend`: its operands, its regions and the attn.attention that they make.
#pragma once

#include "compiler/frontend/sema/Context.h"
#include "compiler/frontend/sema/sizes/Axes.h"

namespace attn::frontend {

/// The tensors of an attention, as the op takes them, and what was written about them.
struct AttendOperands {
  mlir::Value query, key, value;
  Axes keyAxes;                     ///< What is attended along, under its names in the attention.
  std::vector<std::string> sources; ///< Of each, the axis that it was made of.
  Axis heads{"", 0}, group{"", 0}, rest{"", 0};

  /// Whether an axis of keys and values is one that is attended along.
  bool isKeyAxis(const Axis &axis) const { return llvm::is_contained(keyAxes, axis); }

  /// What gives the values: where it pushes to a cache, it gives the keys, too.
  static const ast::Expr &valuesOf(const ast::AttendExpr &attend) {
    return attend.value ? *attend.value : *attend.key;
  }

  /// Adds what the operands are.
  Diagnostic &show(Diagnostic &diagnostic, const ast::AttendExpr &attend) const {
    return diagnostic.at(attend.query->range, "this is " + showAxes(axesOfValue(query)))
        .at(attend.key->range, "this is " + showAxes(axesOfValue(key)))
        .at(valuesOf(attend).range, "this is " + showAxes(axesOfValue(value)));
  }
};

/// An attention: its output and what it returns beside that, or one error value.
std::vector<SemaValue> evalAttend(Sema &sema, const ast::AttendExpr &attend);

/// Takes away what attentions return and nothing reads.
void dropUnreturned(Output &output);

} // namespace attn::frontend
