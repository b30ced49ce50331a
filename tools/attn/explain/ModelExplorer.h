// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Explanations (Explanation.h) as graphs that Google's Model Explorer reads.
#pragma once

#include "llvm/Support/JSON.h"

namespace attn::tool {

/// The collection of graphs in Model Explorer's JSON, one of each entry for each target. Nodes are
/// kernels, with what they cost as `attrs`; blocks are namespaces, whose layers are one. Where the
/// explanation has graphs of its functions, edges are data, and what goes into a block goes to each
/// of its inputs; else edges are the order of the steps.
llvm::json::Object modelExplorerGraphs(const llvm::json::Object &explanation);

} // namespace attn::tool
