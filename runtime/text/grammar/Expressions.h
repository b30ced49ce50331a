// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What all forms of a grammar become first: rules, which are expressions over bytes.
#pragma once

#include "base/Arena.h"
#include "base/Error.h"
#include "base/Slice.h"
#include <initializer_list>

namespace attn::grammar {

/// A set of bytes.
struct ByteSet {
  uint64_t words[4] = {};

  /// Whether a byte is in it.
  bool has(unsigned byte) const { return words[byte >> 6] >> (byte & 63) & 1; }
  /// Adds a byte.
  void add(unsigned byte) { words[byte >> 6] |= uint64_t(1) << (byte & 63); }
  /// Adds those from one to another, both among them.
  void add(unsigned first, unsigned last) {
    for (unsigned byte = first; byte <= last; ++byte)
      add(byte);
  }
  /// Adds those of another set.
  void add(const ByteSet &other) {
    for (int i = 0; i < 4; ++i)
      words[i] |= other.words[i];
  }
  /// Whether no byte is in it.
  bool empty() const { return !(words[0] | words[1] | words[2] | words[3]); }
  bool operator==(const ByteSet &other) const {
    return memcmp(words, other.words, sizeof words) == 0;
  }
};

/// Characters from one code point to another, both among them.
struct CharacterRange {
  uint32_t first, last;
};

/// The largest code point.
constexpr uint32_t lastCharacter = 0x10ffff;

/// Sorts ranges, and joins those that meet.
void sortRanges(Vector<CharacterRange> &ranges);
/// Makes of sorted ranges those of all other characters; false where memory is lacking.
bool invertRanges(Vector<CharacterRange> &ranges);

/// Makes a vector long enough for a place, with zeros, and with room for more; false where memory
/// is lacking.
template <typename T> bool cover(Vector<T> &values, size_t place) {
  if (place < values.size())
    return true;
  // Vectors keep their room: asked for again, as much as this is there already.
  size_t room = 64;
  while (room <= place)
    room *= 2;
  return values.reserve(room) && values.resize(place + 1);
}

/// Whether a character is one of a string's.
inline bool isOneOf(char character, const char *characters) {
  return character && strchr(characters, character);
}

/// The number of an expression.
using Id = uint32_t;

/// An expression.
struct Expression {
  /// How texts fit it.
  enum Kind : uint8_t {
    Empty,    ///< the empty text
    Never,    ///< no text
    Bytes,    ///< one byte of the set `first`
    Sequence, ///< `count` children from `first`
    Choice,   ///< the same
    Repeat,   ///< the child `first`, `least` to `most` times
    Rule      ///< what the rule `first` is
  };
  Kind kind = Never;
  uint32_t first = 0, count = 0, least = 0, most = 0;
};

/// A repetition without an end.
constexpr uint32_t endless = UINT32_MAX;

/// A rule: its name, for messages, and what it is.
struct Rule {
  Slice name;
  Id body;
};

/// Expressions and rules under construction. Where memory is lacking, or a bound is passed, all
/// that follows is Never, and `problem` says so.
class Expressions {
public:
  /// No more expressions than these are made of a grammar.
  static constexpr size_t maxExpressions = 1 << 20;

  Expressions();
  /// The empty text.
  Id empty() const { return 0; }
  /// No text.
  Id never() const { return 1; }
  /// One byte of a set; a byte; one of those from one to another.
  Id bytes(const ByteSet &set);
  Id byte(unsigned char value);
  Id byteRange(unsigned char first, unsigned char last);
  /// These bytes one after the other.
  Id literal(Slice text);
  Id sequence(const Id *parts, size_t count);
  Id sequence(Id first, Id second) { return sequence({first, second}); }
  Id sequence(std::initializer_list<Id> parts) { return sequence(parts.begin(), parts.size()); }
  Id choice(const Id *parts, size_t count);
  Id choice(std::initializer_list<Id> parts) { return choice(parts.begin(), parts.size()); }
  Id repeat(Id part, uint32_t least, uint32_t most);
  Id optional(Id part) { return repeat(part, 0, 1); }
  /// One character of these ranges, which are sorted, as UTF-8.
  Id characters(const Vector<CharacterRange> &ranges);
  Id rule(uint32_t number);

  /// A new rule, which is Never until it is defined.
  uint32_t addRule(Slice name);
  void define(uint32_t rule, Id body) {
    if (rule < rules.size())
      rules[rule].body = body;
  }

  const Expression &operator[](Id id) const { return all[id]; }
  /// The parts of a sequence or a choice.
  const Id *childrenOf(const Expression &expression) const {
    return children.data() + expression.first;
  }
  /// The set of a byte.
  const ByteSet &setOf(const Expression &expression) const { return sets[expression.first]; }
  /// How many there are.
  size_t size() const { return all.size(); }

  Vector<Rule> rules;
  const char *problem = nullptr; ///< what was lacking, or too much

private:
  /// A new expression; one with parts.
  Id add(const Expression &expression);
  Id addParent(Expression::Kind kind, const Id *parts, size_t count);
  /// Never, from here on.
  Id fail(const char *why) {
    problem = problem ? problem : why;
    return never();
  }

  Vector<Expression> all;
  Vector<Id> children;
  Vector<ByteSet> sets;
  Arena names;
};

/// Makes a grammar such that an automaton can follow it: what can be no text goes; repetitions are
/// of what is not empty; a rule that begins with itself becomes a repetition; choices with the same
/// beginning share it. R0713 where a rule begins with itself by way of others, or no text fits.
attn_status prepareRules(Expressions &expressions, uint32_t start, Error &error);

} // namespace attn::grammar
