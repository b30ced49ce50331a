// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// PTX text to tokens (ISA 4): `ld.global.v2.b32`, `%tid.x` and `shared::cta` are single words;
// comments are gone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace attn::ptx {

struct Token {
  enum class Kind : uint8_t { Word, Number, Text, Mark, End };
  Kind kind;
  std::string text;
  /// A number's bits; `0f3F800000` and `0d...` as they are written.
  uint64_t bits;
  int line;

  bool is(const char *word) const { return text == word && kind != Kind::Text; }
};

/// The tokens of the text, the last of kind End.
std::vector<Token> tokenize(const std::string &text);

} // namespace attn::ptx
