// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What may be written at a cursor, as far as the tokens before it tell.
#pragma once

#include "Document.h"

namespace attn::lsp {

/// What may stand at a place.
enum class Expected {
  Nothing,  ///< A new name, a number, the text of a comment.
  Item,     ///< The word of a declaration or a statement; of an attention, that of a line.
  Library,  ///< The path of a library.
  Block,    ///< A block or a cell.
  Hook,     ///< A score, a bias or a mask.
  Weight,   ///< What makes weights of scores.
  Dtype,    ///< A dtype, before the brackets of a type.
  Axis,     ///< An axis or another dim.
  Tensor,   ///< The name of a tensor of the checkpoint, in quotes.
  Value,    ///< An operand.
  Operator, ///< A word behind an operand.
};

/// A cursor and what surrounds it.
struct Place {
  Expected expected = Expected::Nothing;
  frontend::SourceRange written; ///< What is there already of the word, or of the text in quotes.
  unsigned scopes = 0;     ///< Bits of frontend::ItemScope: the braces around; 0 in an attention.
  bool isInBlock = false;  ///< In a block or a cell.
  uint32_t item = 0;       ///< Where the item or the line begins.
  llvm::StringRef keyword; ///< The word that begins the item or the line.
};

/// The place of an offset of the text.
Place placeAt(const Document &document, uint32_t offset);

} // namespace attn::lsp
