// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What texts of JSON consist of (RFC 8259), bounded so that no text goes on with nothing but white
// space or digits.
#pragma once

#include "text/grammar/Expressions.h"
#include "text/steps/JsonTree.h"

namespace attn::grammar {

/// The parts of JSON as expressions; those that occur often are rules.
class JsonParts {
public:
  /// Digits before the point, behind it, and of an exponent, at most.
  static constexpr uint32_t mostDigits = 60, mostFraction = 30, mostExponent = 2;
  /// Spaces or tabs behind a line's end, at most.
  static constexpr uint32_t mostIndent = 40;

  explicit JsonParts(Expressions &to);

  /// Nothing, a space, or a line's end and spaces.
  Id space() const { return to.rule(spaceRule); }
  /// Any string; any number; any value; any object or array.
  Id string() const { return to.rule(stringRule); }
  Id number() const { return to.rule(numberRule); }
  Id integer() const { return to.rule(integerRule); }
  Id value() const { return to.rule(valueRule); }
  Id object() const { return to.rule(objectRule); }
  Id array() const { return to.rule(arrayRule); }
  /// A string of so many characters.
  Id string(uint32_t least, uint32_t most);
  /// One character of these ranges, which are sorted, as it stands in a string: with a backslash
  /// where it needs one, and only there.
  Id plainCharacters(const Vector<CharacterRange> &ranges);
  /// Any character of a string in this way.
  Id plainCharacter() const { return to.rule(plainRule); }
  /// A string as `appendJsonString` writes it, without its quotes.
  Id plainText(Slice text);
  /// A string of plain characters between quotes.
  Id quoted(Id text) { return to.sequence({to.byte('"'), text, to.byte('"')}); }
  /// `part`, what separates it, `part` and so on, so many times, between brackets.
  Id list(unsigned char open, Id part, uint32_t least, uint32_t most, unsigned char close);
  /// What stands between two parts: a comma and space.
  Id comma() { return to.sequence(to.byte(','), space()); }
  /// What stands between a name and its value.
  Id colon() { return to.sequence(to.byte(':'), space()); }
  /// Digits; `least` to `most`.
  Id digits(uint32_t least, uint32_t most) {
    return to.repeat(to.byteRange('0', '9'), least, most);
  }
  /// A value as it stands in a schema.
  Id constant(JsonValue value);

private:
  /// One character of a string, in each way to write it.
  Id character();

  Expressions &to;
  uint32_t spaceRule, characterRule, plainRule, stringRule, numberRule, integerRule, valueRule,
      objectRule, arrayRule;
};

} // namespace attn::grammar
