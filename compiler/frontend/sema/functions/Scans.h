// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Cells, and `scan` of them over an axis -> attn.scan.
#pragma once

#include "compiler/frontend/sema/Context.h"

namespace attn::frontend {

/// Whether the results of a cell name states, which are its last parameters; reports where not.
bool checkCell(Reporter &report, const ast::Signature &signature);

/// What a scan gives: what the steps give, along the axis, then the last states.
std::vector<SemaValue> evalScan(Sema &sema, const ast::ScanExpr &scan);

/// The same where one value is needed: what the steps give.
SemaValue evalScanned(Sema &sema, const ast::ScanExpr &scan);

} // namespace attn::frontend
