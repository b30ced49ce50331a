// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The ways to cut texts that GGUF files name in `tokenizer.ggml.pre`, with llama.cpp's names.
#pragma once

#include "base/Error.h"
#include "text/steps/Unicode.h"

namespace attn {

/// How vocabularies of some names cut texts before merges.
struct GgufCut {
  /// What stands behind the expressions.
  enum Ending {
    Bytes,      ///< bytes are written as characters
    CutBytes,   ///< likewise, cut by ByteLevel's expression
    Characters, ///< U+2581 stands for a space, and what has no token is bytes
    Spaces,     ///< what the expressions find is left out, and there are no bytes
  };
  /// What else differs, added up.
  enum Trait : unsigned {
    IgnoresMerges = 1, ///< a word that is a token is taken whole
    AddsBos = 2,       ///< a token stands in front where a file does not say
  };
  const char *names[24];
  const char *expressions[6]; ///< taken one after the other
  Ending ending = Bytes;
  unsigned traits = 0;
};

/// The way of a name; null where it is not known.
const GgufCut *findGgufCut(Slice name);

/// Appends all names that are known.
void appendGgufCuts(Text &text);

} // namespace attn
