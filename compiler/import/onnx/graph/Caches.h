// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Past keys and values that go into a graph, and present ones that come out and are the past ones
// with new ones behind them, are what the language has as a cache.
#pragma once

#include "compiler/import/onnx/OnnxFile.h"
#include "llvm/ADT/StringMap.h"

namespace attn::importer {

/// The domain of `Push`, the node of the importer's own that puts new keys or values into a cache.
inline constexpr llvm::StringLiteral ownDomain = "attn.import";

/// Makes nodes `Push` of the Concats of past and new ones, and takes past and present tensors out
/// of what the graph takes and gives. What is left is the graph of a sequence without a past, which
/// the language continues: positions and masks of it count from the first one in the cache. Masks
/// of all positions are ones, and positions that are inputs are counted. `sizes` lose what says how
/// many positions the cache holds.
void takeCaches(OnnxGraph &graph, llvm::StringMap<int64_t> &sizes);

} // namespace attn::importer
