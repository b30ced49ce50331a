// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which of a query's axes are batch dims of an attention's kernel, and which are its rows.
#pragma once

#include "compiler/transforms/plan/Tensors.h"

namespace attn::planning {

/// The query's axes in the order of the kernel's positions: batch dims, then those that make up the
/// rows, one after the other in memory. Axes that key and value lack are rows, or batch dims along
/// which key and value are repeated.
struct QueryAxes {
  SmallVector<int64_t> batch, rows;
};

/// Divides the axes of a query that lies as `query` says; `outputs` have the query's axes first.
QueryAxes divideAxes(AttentionOp op, const BufferView &query, ArrayRef<BufferView> outputs);

/// The one atom of an axis.
Atom atomOf(const BufferView &view, int64_t axis, RankedTensorType type);

/// The one atom of the axes that make up the rows.
Atom rowsOf(const BufferView &view, const QueryAxes &axes);

} // namespace attn::planning
