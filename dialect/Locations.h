// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Places in the spec: what they are called where IR is printed with them, and the spec's words that
// an op was made of.
//
//   %7 = attn.linear ... loc(#L23C29_L23C24-vit-mlp_fc1)
//   #L23C29-vit = loc("examples/vit.attn":23:29)
//
// So a person goes from an op to its line without looking the location up, and the text can still
// be read again. A fused op's name has the places of all its parts.
#pragma once

#include "mlir/IR/DialectInterface.h"
#include "mlir/IR/Location.h"
#include <memory>

namespace attn {

/// A location that also says what the spec has there: "gelu", "causal and window(256, 0)". No words
/// leave it as it is.
mlir::Location inWords(mlir::Location loc, llvm::StringRef words);

/// The words of a location; empty where it has none.
llvm::StringRef wordsAt(mlir::Location loc);

/// The interface by which a dialect names the locations of all.
std::unique_ptr<mlir::DialectInterface> createLocationAliases(mlir::Dialect *dialect);

} // namespace attn
