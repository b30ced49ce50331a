// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Added tokens: they are found in the text before a model sees it.
#pragma once

#include "text/steps/ComponentReader.h"
#include "text/steps/Normalizer.h"
#include "text/steps/Pieces.h"
#include "text/steps/Vocabulary.h"

namespace attn {

/// A token that is looked for as it is, or, `isNormalized`, in the normalized text.
struct AddedToken {
  int32_t id = -1;
  Slice content;
  bool isSpecial = false, isSingleWord = false, stripsLeft = false, stripsRight = false;
  bool isNormalized = false;
  bool isHidden = false; ///< in no text
};

/// All added tokens of a tokenizer, and the tries that find them.
class AddedTokens {
public:
  /// Adds a token, whose content belongs to the tokenizer, or replaces the one of that id; false
  /// where memory is lacking.
  bool add(const AddedToken &token);
  /// Reads `added_tokens`, which may be null.
  bool read(ComponentReader &reader, JsonValue value);
  /// Makes the tries; an error where memory is lacking or the normalizer makes too much of a token.
  bool finish(ComponentReader &reader, const Vector<Normalizer> &normalizers);

  /// Makes all tokens such that texts may have them.
  void showAll();
  /// The token of an id, or null.
  const AddedToken *find(int64_t id) const;
  /// The id of a content, or -1.
  int32_t find(Slice content) const { return contents.find(content); }
  bool isSpecial(int64_t id) const;
  /// One more than the largest id.
  size_t end() const { return byId.size(); }

  /// Cuts a text at the tokens that are normalized, or at those that are not; pieces are moved by
  /// `offset`. Special tokens are left as text where `areSpecialText`. False where memory is
  /// lacking.
  bool split(Slice text, size_t offset, bool areNormalized, bool areSpecialText,
             Vector<Piece> &pieces) const;

private:
  Vector<AddedToken> tokens;
  Vector<int32_t> byId; ///< the place in `tokens`, plus 1
  Vocabulary contents;
  ByteTrie plain, normalized; ///< to places in `tokens`
};

} // namespace attn
