// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// JSON's grammar as expressions.
#include "text/grammar/JsonParts.h"
#include "base/Json.h"
#include "text/grammar/FrontEnds.h"
#include "text/steps/Unicode.h"
#include <cstdio>

using namespace attn;
using namespace attn::grammar;

JsonParts::JsonParts(Expressions &to) : to(to) {
  spaceRule = to.addRule(Slice("space"));
  characterRule = to.addRule(Slice("character"));
  plainRule = to.addRule(Slice("plain character"));
  stringRule = to.addRule(Slice("string"));
  numberRule = to.addRule(Slice("number"));
  integerRule = to.addRule(Slice("integer"));
  valueRule = to.addRule(Slice("value"));
  objectRule = to.addRule(Slice("object"));
  arrayRule = to.addRule(Slice("array"));

  ByteSet blanks;
  blanks.add(' ');
  blanks.add('\t');
  Id lineEnd = to.choice({to.byte('\n'), to.literal(Slice("\r\n"))});
  to.define(spaceRule,
            to.choice({to.empty(), to.byte(' '),
                       to.sequence(lineEnd, to.repeat(to.bytes(blanks), 0, mostIndent))}));
  to.define(characterRule, character());
  Vector<CharacterRange> all;
  all.push({0, lastCharacter});
  to.define(plainRule, plainCharacters(all));
  // The character is not called, so that all of a string is within one rule.
  to.define(stringRule, quoted(to.repeat(character(), 0, endless)));

  Id minus = to.optional(to.byte('-'));
  Id whole =
      to.choice({to.byte('0'), to.sequence(to.byteRange('1', '9'), digits(0, mostDigits - 1))});
  Id fraction = to.optional(to.sequence(to.byte('.'), digits(1, mostFraction)));
  ByteSet e, signs;
  e.add('e');
  e.add('E');
  signs.add('+');
  signs.add('-');
  Id exponent = to.optional(
      to.sequence({to.bytes(e), to.optional(to.bytes(signs)), digits(1, mostExponent)}));
  to.define(integerRule, to.sequence(minus, whole));
  to.define(numberRule, to.sequence({minus, whole, fraction, exponent}));

  Id member = to.sequence({string(), colon(), value()});
  to.define(objectRule, list('{', member, 0, endless, '}'));
  to.define(arrayRule, list('[', value(), 0, endless, ']'));
  to.define(valueRule, to.choice({string(), number(), object(), array(), to.literal(Slice("true")),
                                  to.literal(Slice("false")), to.literal(Slice("null"))}));
}

Id JsonParts::character() {
  Vector<CharacterRange> bare;
  if (!bare.push({0x20, 0x21}) || !bare.push({0x23, 0x5b}) || !bare.push({0x5d, lastCharacter}))
    return to.never();
  ByteSet letters, hex, upTo7, from8toB, fromCtoF, notD, d;
  for (const char *letter = "\"\\/bfnrt"; *letter; ++letter)
    letters.add(static_cast<unsigned char>(*letter));
  auto addHex = [](ByteSet &set, unsigned first, unsigned last) {
    for (unsigned i = first; i <= last; ++i) {
      set.add(static_cast<unsigned char>("0123456789abcdef"[i]));
      set.add(static_cast<unsigned char>("0123456789ABCDEF"[i]));
    }
  };
  addHex(hex, 0, 15);
  addHex(upTo7, 0, 7);
  addHex(from8toB, 8, 11);
  addHex(fromCtoF, 12, 15);
  addHex(notD, 0, 12);
  addHex(notD, 14, 15);
  addHex(d, 13, 13);
  auto hexes = [&](uint32_t count) { return to.repeat(to.bytes(hex), count, count); };
  // A surrogate only with its other half.
  Id single = to.choice({to.sequence(to.bytes(notD), hexes(3)),
                         to.sequence({to.bytes(d), to.bytes(upTo7), hexes(2)})});
  Id pair = to.sequence({to.bytes(d), to.bytes(from8toB), hexes(2), to.literal(Slice("\\u")),
                         to.bytes(d), to.bytes(fromCtoF), hexes(2)});
  Id code = to.sequence(to.byte('u'), to.choice({single, pair}));
  return to.choice(
      {to.characters(bare), to.sequence(to.byte('\\'), to.choice({to.bytes(letters), code}))});
}

Id JsonParts::plainCharacters(const Vector<CharacterRange> &ranges) {
  Vector<CharacterRange> bare;
  Vector<Id> parts;
  for (CharacterRange range : ranges)
    for (uint32_t first = range.first; first <= range.last;) {
      bool isEscaped = first < 0x20 || first == '"' || first == '\\';
      uint32_t last = first < 0x20                    ? first
                      : first < '"'                   ? '"' - 1
                      : first == '"' || first == '\\' ? first
                      : first < '\\'                  ? '\\' - 1
                                                      : lastCharacter;
      last = last < range.last ? last : range.last;
      char written[2] = {'\\', jsonLetter(first)}, code[8];
      snprintf(code, sizeof code, "\\u%04x", unsigned(first));
      if (!isEscaped ? !bare.push({first, last})
                     : !parts.push(to.literal(written[1] ? Slice(written, 2) : Slice(code))))
        return to.never();
      first = last + 1;
    }
  if (!parts.push(to.characters(bare)))
    return to.never();
  return to.choice(parts.data(), parts.size());
}

Id JsonParts::plainText(Slice text) {
  Vector<char> json;
  if (!appendJsonString(text, json))
    return to.never();
  return to.literal(Slice(json).between(1, json.size() - 1));
}

Id JsonParts::string(uint32_t least, uint32_t most) {
  if (least == 0 && most == endless)
    return string();
  return quoted(to.repeat(character(), least, most));
}

Id JsonParts::list(unsigned char open, Id part, uint32_t least, uint32_t most,
                   unsigned char close) {
  if (least > most)
    return to.never();
  uint32_t more = most == endless ? endless : most ? most - 1 : 0;
  Id rest = to.repeat(to.sequence(comma(), part), least ? least - 1 : 0, more);
  Id parts = to.sequence({space(), part, rest, space()});
  if (most == 0)
    parts = to.empty();
  return to.sequence({to.byte(open), least ? parts : to.optional(parts), to.byte(close)});
}

Id JsonParts::constant(JsonValue value) {
  switch (value.kind()) {
  case '"':
    return quoted(plainText(value.text()));
  case '0':
    return to.literal(value.text());
  case 't':
    return to.literal(Slice("true"));
  case 'f':
    return to.literal(Slice("false"));
  case 'n':
    return to.literal(Slice("null"));
  default:
    break;
  }
  bool isObject = value.isObject();
  Vector<Id> parts;
  bool isGood = parts.push(to.byte(isObject ? '{' : '['));
  for (JsonValue part = value.first(); isGood && part.exists(); part = part.next()) {
    isGood = parts.push(parts.size() == 1 ? space() : comma());
    if (isGood && isObject)
      isGood = parts.push(quoted(plainText(part.key()))) && parts.push(colon());
    isGood = isGood && parts.push(constant(part));
  }
  isGood = isGood && (parts.size() == 1 || parts.push(space())) &&
           parts.push(to.byte(isObject ? '}' : ']'));
  return isGood ? to.sequence(parts.data(), parts.size()) : to.never();
}

attn_status grammar::readJsonObject(Slice text, Expressions &to, uint32_t &start, Error &error) {
  if (text.size)
    return error.set(ATTN_BAD_INPUT, "R0711",
                     "any object of JSON has no text that says which; a "
                     "schema is of the kind ATTN_GRAMMAR_JSON_SCHEMA");
  JsonParts parts(to);
  start = to.addRule(Slice("start"));
  to.define(start, parts.object());
  return ATTN_OK;
}
