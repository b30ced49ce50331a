// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// attn.round_row as vector code.
#include "compiler/cpu/rows/Rows.h"
#include "dialect/AttnDialect.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace attn;

void attn::emitRound(RoundRowOp op, const RowVectors &rows) {
  int64_t columns = op.getInput().getType().getDimSize(0), lanes = rows.target.lanes;
  Value input = rows.prepare(op.getInput());
  // Padding is multiplied with zeros, which NaN would survive: the last vector is stored whole.
  auto store = [&](Value vector, Value column) { rows.store(vector, op.getOut(), {column, {}}); };
  rows.forEach(rows.index.constant(columns), 4,
               [&](const RowPlace &place) { store(rows.load(input, place), place.column); });
  int64_t end = llvm::alignTo(columns, 32);
  for (int64_t column = llvm::alignTo(columns, lanes); column < end; column += lanes)
    store(rows.zero(), rows.index.constant(column));
}
