// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An explanation (Explanation.h) as people read it in a terminal.
#pragma once

#include "Remarks.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace attn::tool {

/// Prints kernels, under the CPU level or GPU they are for, with their places in the spec and the
/// reasons why something was not done; behind them reasons that no kernel has. `withReasons`: else
/// those are printed elsewhere.
void printExplanation(const llvm::json::Object &explanation, bool withReasons,
                      llvm::raw_ostream &stream);

/// Prints all reasons as diagnostics in JSON, an object a line.
void printReasons(const Remarks &remarks, llvm::raw_ostream &stream);

} // namespace attn::tool
