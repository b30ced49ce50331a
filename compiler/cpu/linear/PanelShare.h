// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a thread does of a linear at a time: a unit is a panel of weights and a block of rows, and a
// share a run of units, panel by panel, so that a panel is read by one thread (two where a share
// ends within it) and pieces differ by one block at most.
#pragma once

#include "compiler/cpu/linear/Linear.h"

namespace attn {

/// Some pieces of all panels and blocks.
class PanelShare {
public:
  PanelShare(IndexBuilder index, int64_t panels, mlir::Value blocks, const Pieces &pieces);

  /// Loops over the share's panels, of each of which blocks [from, to) are in it.
  void forEachPanel(
      llvm::function_ref<void(mlir::Value panel, mlir::Value from, mlir::Value to)> body) const;

  mlir::Value firstPanel, lastPanel;

private:
  IndexBuilder index;
  mlir::Value blocks, end;
  UnitShare units;
};

} // namespace attn
