// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The places of ops in the spec as text, the words that they were made of, and the terms of an
// attention that they are computed for.
#pragma once

#include "mlir/IR/Operation.h"
#include <optional>
#include <string>

namespace attn {

enum class AttentionTerm : uint32_t; // AttnDialect.td

/// "specs/vit.attn:16:5": the first place in a spec that a location has, its file as the user wrote
/// it; empty where there is none.
std::string placeText(mlir::Location loc);
/// The same, the file without its folder.
std::string shortPlaceText(mlir::Location loc);
/// All of its places, each once, the first one first.
llvm::SmallVector<std::string> placeTexts(mlir::Location loc);

/// A location that also says where a term of an attention stands: its `weight`. No place leaves it
/// as it is.
mlir::Location withTerm(mlir::Location loc, AttentionTerm term,
                        std::optional<mlir::Location> place);

/// Of the location of an attention, or of what is computed for it, that of what is computed for a
/// term: its place where the attention says one, else that of the attention; and the term.
mlir::Location atTerm(mlir::Location loc, AttentionTerm term);

/// A location that keeps its place, of what is computed for a term.
mlir::Location forTerm(mlir::Location loc, AttentionTerm term);

/// The term that an op with this location is computed for.
std::optional<AttentionTerm> termOf(mlir::Location loc);

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
