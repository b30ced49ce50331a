// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Normalizers: they change a text, character by character, before it is cut.
#pragma once

#include "text/steps/AlignedText.h"
#include "text/steps/Charsmap.h"
#include "text/steps/ComponentReader.h"
#include "text/steps/Vocabulary.h"

namespace attn {

/// One step; a Sequence is several. Strings, tables and tries belong to the tokenizer.
struct Normalizer {
  /// What the step does.
  enum Kind {
    Form,
    Lowercase,
    Uppercase, ///< where it is one character, too
    StripAccents,
    Bert,
    Replace,
    Prepend,
    Strip,
    Nmt,
    Precompiled,
    ByteLevel,
    SentencePiece
  };
  Kind kind = Form;
  bool isComposed = false, isCompatible = false; ///< of Form: NFC and NFKC, NFKC and NFKD
  bool cleans = true, spacesChinese = true, stripsAccents = true, lowers = true; ///< of Bert
  bool stripsLeft = true, stripsRight = true;                                    ///< of Strip
  Pattern pattern;                                                               ///< of Replace
  Slice content;                   ///< of Replace and Prepend
  Charsmap charsmap;               ///< of Precompiled and SentencePiece
  const ByteTrie *whole = nullptr; ///< of SentencePiece: strings that are left as they are
  bool joinsSpaces = false;        ///< of SentencePiece: `remove_extra_whitespaces`
  bool addsSpace = false;          ///< of SentencePiece: `add_dummy_prefix`
  bool isFirstOnly = false;        ///< of SentencePiece: at the beginning of the text alone
  bool isSpaceBehind = false;      ///< of SentencePiece: at the end, not at the beginning
  bool escapes = false;            ///< of SentencePiece: U+2581 for spaces
};

/// Reads the component at `value`, which may be null, as steps.
bool readNormalizer(ComponentReader &reader, JsonValue value, Vector<Normalizer> &steps);

/// Takes all steps on a text; `scratch` is overwritten. False where memory is lacking, an
/// expression failed or `growth` is spent.
bool normalize(const Vector<Normalizer> &steps, AlignedText &text, AlignedText &scratch,
               Growth &growth);

/// Normalizes by Unicode's forms: from `from` to the end of `to`.
void normalizeForm(const AlignedText &from, bool isComposed, bool isCompatible, AlignedText &to);

/// Whether NFC, or else every form, leaves a text as it is, as far as can be told quickly.
bool isNormal(Slice text, bool isNfc);

} // namespace attn
