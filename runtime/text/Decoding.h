// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decoding token by token.
#pragma once

#include "text/Tokenizer.h"

namespace attn {

/// Texts of tokens depend on those before: a decoder drops a space at the beginning, and characters
/// lie in several tokens. So the last tokens are decoded together, once without and once with a new
/// one, and what comes longer is handed over as far as its characters are complete.
class Decoding {
public:
  Decoding(const Tokenizer &tokenizer, bool skipsSpecial)
      : tokenizer(tokenizer), skipsSpecial(skipsSpecial) {}

  /// Begins behind tokens whose text has been shown.
  attn_status follow(const int32_t *ids, int64_t count, Error &error);
  /// Takes a token; `text()` becomes what it completes.
  attn_status add(int32_t id, Error &error);
  /// `text()` becomes what was held back.
  attn_status finish(Error &error);
  /// With a NUL behind it, not counted.
  Slice text() const { return {ready.data(), ready.size() - 1}; }

private:
  /// Whether a token is no part of texts.
  bool isLeftOut(int32_t id) const {
    return skipsSpecial && tokenizer.added.isSpecial(id) && !tokenizer.isBlank(id);
  }
  /// Keeps of the window, all of which has been handed over, what later tokens depend on.
  attn_status shrink(int32_t last, Error &error);

  const Tokenizer &tokenizer;
  bool skipsSpecial;
  Vector<int32_t> window; ///< the last tokens; all before them have been handed over
  size_t handed = 0;      ///< bytes of the window's text that have been
  int32_t blank = -1;     ///< a token without a letter in front of the next one
  Vector<char> whole, ready;
};

} // namespace attn
