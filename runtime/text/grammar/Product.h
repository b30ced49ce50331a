// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Texts that fit some expressions and do not fit others.
#pragma once

#include "text/grammar/JsonParts.h"
#include "text/grammar/Regex.h"
#include "text/grammar/States.h"

namespace attn::grammar {

/// Expressions over the characters of a string of JSON, all of which a text has to fit, or not to
/// fit.
class Product {
public:
  /// Sets of places that are gone into, at most.
  static constexpr size_t maxStates = 20000;
  ~Product();
  /// An expression that a part of the text has to match.
  bool addPattern(Slice pattern, bool isWanted, RegexProblem &problem);
  /// These texts.
  bool addTexts(const Vector<Slice> &texts, bool isWanted);
  /// A text of so many characters.
  bool addLength(uint32_t least, uint32_t most);
  /// Makes the expression; false where memory is lacking or it is too large.
  bool compile(Expressions &to, Id &result);
  /// Whether a text, as it stands in a string, fits.
  bool fits(Slice written);

private:
  /// One of the expressions.
  struct Factor {
    Automaton automaton;
    States *states = nullptr;
    bool isWanted = true;
  };
  /// Adds what `body` is.
  bool add(Expressions &expressions, Id body, bool isWanted);
  /// Whether a text may end in these states, one of each expression.
  bool isEnd(const uint32_t *states) const;

  Vector<Factor *> factors;
};

} // namespace attn::grammar
