// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The places of ops in the spec as text, and the words that they were made of.
#pragma once

#include "mlir/IR/Operation.h"
#include <optional>
#include <string>

namespace attn {

/// "specs/vit.attn:16:5": the first place in a spec that a location has, its file as the user wrote
/// it; empty where there is none.
std::string placeText(mlir::Location loc);
/// The same, the file without its folder.
std::string shortPlaceText(mlir::Location loc);
/// All of its places, each once, the first one first.
llvm::SmallVector<std::string> placeTexts(mlir::Location loc);

/// Parts of an attention that have places of their own.
namespace attentionParts {
/// The product of query and key.
inline constexpr llvm::StringLiteral score = "score";
/// What makes weights of scores.
inline constexpr llvm::StringLiteral weight = "weight";
} // namespace attentionParts

/// A location that also says where a part of the op stands: the `weight` of an attention. No place
/// leaves it as it is.
mlir::Location withPart(mlir::Location loc, llvm::StringRef part,
                        std::optional<mlir::Location> place);

/// Where a part of an op stands; the location itself where it does not say.
mlir::Location partAt(mlir::Location loc, llvm::StringRef part);

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
