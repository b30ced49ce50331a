// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Pre-tokenizers: they cut a text into the words that a model makes tokens of.
#pragma once

#include "text/steps/ComponentReader.h"
#include "text/steps/Pieces.h"

namespace attn {

/// Where Metaspace puts its character before a piece.
enum class PrependScheme { Always, First, Never };

/// One step; a Sequence is several.
struct PreTokenizer {
  /// What the step does.
  enum Kind { ByteLevel, Metaspace, Split, FixedLength };
  Kind kind = Split;
  Pattern pattern; ///< of Split, of ByteLevel with `usesRegex`
  SplitBehaviour behaviour = SplitBehaviour::Isolated;
  bool isInverted = false;
  bool addsSpace = false, usesRegex = false; ///< of ByteLevel
  Slice replacement;                         ///< of Metaspace
  PrependScheme scheme = PrependScheme::Always;
  bool splits = true;
  size_t length = 0; ///< of FixedLength, in characters
};

/// Reads the component at `value`, which may be null, as steps.
bool readPreTokenizer(ComponentReader &reader, JsonValue value, Vector<PreTokenizer> &steps);

/// The steps of ByteLevel, cut by an expression of the library's own: what GPT-2 has.
bool makeByteLevel(ComponentReader &reader, const char *expression, Vector<PreTokenizer> &steps);

/// Takes all steps on the pieces that are no added tokens. `scratch` is overwritten. False where
/// memory is lacking, an expression failed or `growth` is spent.
bool preTokenize(const Vector<PreTokenizer> &steps, Pieces &pieces, Pieces &scratch,
                 Growth &growth);

/// The expression of ByteLevel.
extern const char byteLevelExpression[];

} // namespace attn
