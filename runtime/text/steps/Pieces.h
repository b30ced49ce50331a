// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A text on its way to tokens: cut into pieces, some of which are added tokens already.
#pragma once

#include "text/steps/AlignedText.h"
#include "text/steps/Pattern.h"

namespace attn {

/// Bytes of a text that are tokenized by themselves. What lies in no piece is left out.
struct Piece {
  size_t begin = 0, end = 0;
  int32_t token = -1; ///< of an added token its id
};

/// A text and its pieces, in order.
struct Pieces {
  AlignedText text;
  Vector<Piece> pieces;
};

/// What becomes of the matches that a text is cut at.
enum class SplitBehaviour { Removed, Isolated, MergedWithPrevious, MergedWithNext, Contiguous };

/// Cuts `text` at the matches of a pattern, or, `isInverted`, at what lies between them. Appends
/// pieces that are not empty, moved by `offset`. False where memory is lacking or the pattern
/// failed.
bool splitText(Slice text, size_t offset, const Pattern &pattern, SplitBehaviour behaviour,
               bool isInverted, Vector<Piece> &pieces);

} // namespace attn
