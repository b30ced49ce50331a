// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A checkpoint to bytes inside a model's object.
#pragma once

#include "llvm/Support/MemoryBuffer.h"
#include <memory>

namespace attn::tool {

/// Fills the block that the compiler reserved in a model's object with the checkpoint at `weights`.
/// 0, or an exit code after an error has been printed.
int embedWeights(std::unique_ptr<llvm::MemoryBuffer> &object, llvm::StringRef symbol,
                 llvm::StringRef weights);

} // namespace attn::tool
