// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parts of an explanation (Explanation.h) that are shown when they are asked for: the plan of the
// memory, where parameters lie, and the loops of a kernel.
#pragma once

#include "llvm/Support/JSON.h"
#include "llvm/Support/raw_ostream.h"

namespace attn::tool {

/// Prints of each target the workspace of each function, the largest first, and its largest
/// buffers: their bytes, during which steps they are needed, and what for.
void printMemory(const llvm::json::Object &explanation, llvm::raw_ostream &stream);

/// Prints of each target the tensors of the checkpoint, in the order of the packed weights: where
/// the spec binds them, and how and where they are stored.
void printParameters(const llvm::json::Object &explanation, llvm::raw_ostream &stream);

/// Prints the loops and tiles of a kernel, nested; nothing where it has none.
void printLoops(const llvm::json::Object &kernel, llvm::raw_ostream &stream);

} // namespace attn::tool
