// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A run of units, panel by panel, to a loop over panels and the blocks of each.
#include "compiler/cpu/linear/PanelShare.h"

using namespace mlir;
using namespace attn;

PanelShare::PanelShare(IndexBuilder index, int64_t panels, Value blocks, const Pieces &pieces)
    : index(index), blocks(blocks),
      units(pieces.of(index, index.mul(index.constant(panels), blocks))) {
  // No row at all is no block; only the divisions need one.
  Value one = index.constant(1), divisor = index.max(blocks, one);
  firstPanel = index.div(units.from, divisor);
  end = index.ceilDiv(units.to, divisor);
  lastPanel = index.sub(end, one);
}

void PanelShare::forEachPanel(llvm::function_ref<void(Value, Value, Value)> body) const {
  forLoop(index, firstPanel, end, 1, [&](Value panel) {
    Value start = index.mul(panel, blocks), from = index.max(units.from, start);
    body(panel, index.sub(from, start), index.min(index.sub(units.to, start), blocks));
  });
}
