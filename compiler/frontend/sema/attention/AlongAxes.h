// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// `along (Y as V, X as U)`: attention along several axes is attention along one that they are
// merged to, row by row.
#pragma once

#include "compiler/frontend/sema/Context.h"
#include "compiler/frontend/sema/attention/FormulaValue.h"

namespace attn::frontend {

struct AttendOperands;
class AttentionRegions;

/// What an attention is along: the axes as they were written, and what they are merged to.
struct AlongAxes {
  Axes keys;                        ///< By their names in the attention.
  std::vector<std::string> sources; ///< What each was called before: in positions, `j.y`.
  Axis key{"", 0};                  ///< All of them; the one where there is one.
  Axes rows = {};                   ///< The query's axes of these names, where it has them all.
  Axis row{"", 0};                  ///< What those are merged to.

  /// Whether keys lie along several axes.
  bool areSeveral() const { return keys.size() > 1; }
};

/// Whether the axes after `along` are different ones.
bool checkAlong(Sema &sema, const ast::AttendExpr &attend);

/// Merges what the attention is along, in the keys, the values and the query; nothing where it was
/// reported.
std::optional<AlongAxes> mergeAlong(Sema &sema, const ast::AttendExpr &attend,
                                    AttendOperands &operands);

/// What the attention gives, with the axes that it had before they were merged: those of the query
/// in the order of `query`.
mlir::Value splitAlong(Sema &sema, mlir::Value value, const AlongAxes &along,
                       llvm::ArrayRef<Axis> query, SourceRange range);

/// Adds to the positions of a region those along each of several axes: `i.y`, `j.y`, and `y`.
void namePositionsAlong(Sema &sema, const AttentionRegions &regions, mlir::OpBuilder &inner,
                        std::map<std::string, FormulaValue> &names);

} // namespace attn::frontend
