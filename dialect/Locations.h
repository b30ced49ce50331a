// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The spec's words that an op was made of, beside its place.
#pragma once

#include "mlir/IR/Operation.h"
#include <string>

namespace attn {

/// A location that also says what the spec has there: "gelu", "causal and window(256, 0)". No words
/// leave it as it is.
mlir::Location inWords(mlir::Location loc, llvm::StringRef words);

/// The words of a location; empty where it has none.
llvm::StringRef wordsAt(mlir::Location loc);

/// The ops of a scalar function, constants aside.
llvm::SmallVector<mlir::Operation *> operationsOf(mlir::Region &region);

/// What a scalar function does, constants aside: in the spec's words, "gelu" or "x + ...", where
/// its ops have them, else "mulf", "conversion to f16".
llvm::SmallVector<std::string> wordsOf(mlir::Region &region);

} // namespace attn
