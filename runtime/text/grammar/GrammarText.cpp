// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Places, names, counts and strings of grammars.
#include "text/grammar/GrammarText.h"
#include "base/Utf8.h"
#include "text/steps/Unicode.h"

using namespace attn;
using namespace attn::grammar;

bool GrammarText::failAt(size_t place, const char *what, Slice name) {
  if (!isGood())
    return false;
  size_t line = 1, column = 1;
  for (size_t i = 0; i < place && i < text.size; ++i) {
    bool isEnd = text.data[i] == '\n';
    line += isEnd;
    column = isEnd ? 1 : column + 1;
  }
  error.set(ATTN_BAD_INPUT, "R0712", "the %s grammar:%zu:%zu: %s", form, line, column, what);
  if (name.size) {
    error.text.append("`");
    error.text.appendQuoted(name.data, name.size);
    error.text.append("`");
  }
  return false;
}

bool GrammarText::fail(const char *what, Slice name) { return failAt(position, what, name); }

void GrammarText::skip(const char *comment, bool hasLines) {
  while (!atEnd()) {
    char c = peek();
    if (looksAt(comment))
      while (!atEnd() && peek() != '\n')
        ++position;
    else if (c == ' ' || c == '\t' || (hasLines && (c == '\n' || c == '\r')))
      ++position;
    else
      return;
  }
}

Slice GrammarText::readName(bool hasHyphens) {
  size_t begin = position;
  for (; !atEnd(); ++position) {
    char c = peek();
    bool is = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
              c == '_' || (hasHyphens && c == '-');
    if (!is)
      break;
  }
  return text.between(begin, position);
}

bool GrammarText::readNumber(uint32_t &number) {
  uint64_t value = 0;
  size_t begin = position;
  for (; peek() >= '0' && peek() <= '9'; ++position) {
    value = 10 * value + uint64_t(peek() - '0');
    if (value > maxCount)
      return fail("a repetition is counted to 1000000 at most");
  }
  number = uint32_t(value);
  return position > begin || fail("expected a number");
}

bool GrammarText::readCounts(uint32_t &least, uint32_t &most) {
  size_t begin = position;
  least = 0;
  if (peek() != ',' && !readNumber(least))
    return false;
  most = least;
  if (take(",")) {
    most = endless;
    if (peek() != '}' && !readNumber(most))
      return false;
  }
  if (!take("}"))
    return fail("expected `}` behind the counts of a repetition");
  return least <= most || failAt(begin, "a repetition whose least count is above its most");
}

bool GrammarText::readCharacter(uint32_t &character) {
  size_t length = utf8Length(text.data + position, text.size - position);
  if (!length)
    return fail("not UTF-8");
  if (peek() != '\\') {
    character = decodeUtf8(text.data + position, length);
    position += length;
    return true;
  }
  ++position;
  static const char letters[] = "nrtfv0", codes[] = "\n\r\t\f\v\0";
  char c = peek();
  size_t digits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
  if (const char *letter = c ? strchr(letters, c) : nullptr) {
    ++position;
    character = static_cast<unsigned char>(codes[letter - letters]);
    return true;
  }
  if (!digits) {
    bool isLetter = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
    if (atEnd() || isLetter || (c & 0x80))
      return fail("this escape is not known");
    ++position;
    character = static_cast<unsigned char>(c);
    return true;
  }
  ++position;
  character = 0;
  for (size_t i = 0; i < digits; ++i, ++position) {
    char d = peek();
    int value = d >= '0' && d <= '9'   ? d - '0'
                : d >= 'a' && d <= 'f' ? d - 'a' + 10
                : d >= 'A' && d <= 'F' ? d - 'A' + 10
                                       : -1;
    if (value < 0)
      return fail("expected hexadecimal digits");
    character = 16 * character + uint32_t(value);
  }
  bool isSurrogate = character >= 0xd800 && character < 0xe000;
  return (character <= lastCharacter && !isSurrogate) || fail("this is no character");
}

bool GrammarText::readString(Vector<char> &bytes) {
  size_t begin = position;
  while (!take("\"")) {
    uint32_t character = 0;
    char encoded[4];
    if (atEnd() || peek() == '\n')
      return failAt(begin, "a string has no end");
    if (!readCharacter(character))
      return false;
    if (!bytes.append(encoded, encodeUtf8(character, encoded)))
      return error.outOfMemory("a grammar") == ATTN_OK;
  }
  return true;
}

bool GrammarText::ruleOf(Slice name, uint32_t &rule) {
  int32_t known = names.find(name);
  if (known < 0) {
    known = int32_t(rules.size());
    if (!names.add(known, name) || !rules.push({to.addRule(name), position - name.size, false}))
      return error.outOfMemory("a grammar") == ATTN_OK;
  }
  rule = rules[size_t(known)].rule;
  return true;
}

bool GrammarText::beginRule(Slice name, uint32_t &rule) {
  size_t place = position;
  if (!ruleOf(name, rule))
    return false;
  Named &named = rules[size_t(names.find(name))];
  if (named.isDefined)
    return failAt(place - name.size, "this rule is there twice: ", name);
  named.isDefined = true;
  return true;
}

bool GrammarText::finishRules(const char *start, uint32_t &rule) {
  for (size_t i = 0; i < rules.size(); ++i)
    if (!rules[i].isDefined)
      return failAt(rules[i].place, "this rule is not defined: ", names.token(int64_t(i)));
  int32_t known = names.find(Slice(start));
  if (known < 0)
    return failAt(0, "there is no rule for the whole text: ", Slice(start));
  rule = rules[size_t(known)].rule;
  return true;
}
