// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Lines of the spec for LLVM's code: what `.loc` and `.file` of assembly, !dbg of LLVM's text, and
// with `-g` the line tables of objects are made of.
#pragma once

#include "mlir/IR/Operation.h"

namespace attn {

/// Gives every function of a module in LLVM's dialect, a CPU's or a GPU's, a subprogram, and every
/// op one place in the spec: of an op that was fused, the first part's; in attentions with the term
/// (AttentionTerm) as its discriminator. `areForDebuggers`: the code has a table of lines (DWARF),
/// not only directives.
void addDebugLines(mlir::Operation *module, bool areForDebuggers);

} // namespace attn
