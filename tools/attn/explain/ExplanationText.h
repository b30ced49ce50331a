// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An explanation (Explanation.h) as people read it in a terminal.
#pragma once

#include "Remarks.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace attn::tool {

/// The members of a list that are objects; none where there is no list.
std::vector<const llvm::json::Object *> objects(const llvm::json::Array *list);

/// A member that is text; empty where there is none.
llvm::StringRef memberText(const llvm::json::Object &object, llvm::StringRef name);

/// A number of a unit, with the prefix that leaves up to four digits: "63.1 ms", "12.3 GFLOP".
std::string quantity(double number, llvm::StringRef unit);

/// Prints kernels, under the CPU level or GPU they are for, with their places in the spec and the
/// reasons why something was not done; behind them reasons that no kernel has. `withReasons`: else
/// those are printed elsewhere.
void printExplanation(const llvm::json::Object &explanation, bool withReasons,
                      llvm::raw_ostream &stream);

/// Prints one kernel with its place and the reasons why something was not done.
void printKernel(const llvm::json::Object &kernel, llvm::raw_ostream &stream);

/// Prints all reasons as diagnostics in JSON, an object a line.
void printReasons(const Remarks &remarks, llvm::raw_ostream &stream);

} // namespace attn::tool
