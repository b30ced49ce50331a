// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The reader of JSON: a recursive descent over the text, without a tree.
#include "base/Json.h"
#include "base/Utf8.h"
#include <cstdio>

using namespace attn;

static constexpr int maxDepth = 32;

bool JsonReader::fail(const char *why) {
  if (!problem)
    problem = why;
  return false;
}

char JsonReader::peek() {
  while (position < size && (text[position] == ' ' || text[position] == '\t' ||
                             text[position] == '\n' || text[position] == '\r'))
    ++position;
  return position < size ? text[position] : 0;
}

bool JsonReader::atEnd() {
  peek();
  return position == size;
}

bool JsonReader::expect(char c) {
  if (!isGood())
    return false;
  if (peek() != c || position >= size) {
    switch (c) {
    case '{':
      return fail("expected `{`");
    case '[':
      return fail("expected `[`");
    case ':':
      return fail("expected `:` after a key");
    default:
      return fail("expected a string");
    }
  }
  ++position;
  return true;
}

bool JsonReader::enterObject() {
  if (!expect('{'))
    return false;
  if (++depth > maxDepth)
    return fail("nested too deeply");
  isFirst = true;
  return true;
}

bool JsonReader::enterArray() {
  if (!expect('['))
    return false;
  if (++depth > maxDepth)
    return fail("nested too deeply");
  isFirst = true;
  return true;
}

bool JsonReader::nextElement() {
  if (!isGood())
    return false;
  char c = peek();
  bool wasFirst = isFirst;
  isFirst = false;
  if (c == ']') {
    ++position;
    --depth;
    return false;
  }
  if (wasFirst)
    return true;
  if (c != ',')
    return fail("expected `,` or `]`");
  ++position;
  if (peek() == ']')
    return fail("expected a value after `,`");
  return true;
}

bool JsonReader::beginKey() {
  if (!isGood())
    return false;
  char c = peek();
  bool wasFirst = isFirst;
  isFirst = false;
  if (c == '}') {
    ++position;
    --depth;
    return false;
  }
  if (!wasFirst) {
    if (c != ',')
      return fail("expected `,` or `}`");
    ++position;
  }
  return true;
}

bool JsonReader::nextKey(Vector<char> &key) { return beginKey() && readString(key) && expect(':'); }

bool JsonReader::appendNextKey(Vector<char> &keys) {
  return beginKey() && appendString(keys) && expect(':');
}

bool JsonReader::readString(Vector<char> &value) {
  value.clear();
  if (!takeString(value, false))
    return false;
  if (!value.push(0))
    return fail("no memory for a string");
  value.pop();
  return true;
}

bool JsonReader::appendString(Vector<char> &value) { return takeString(value, true); }

bool JsonReader::takeString(Vector<char> &value, bool allowsNul) {
  if (!expect('"'))
    return false;
  while (position < size && text[position] != '"') {
    if (text[position] == '\\') {
      if (!readEscape(value, allowsNul))
        return false;
      continue;
    }
    size_t begin = position;
    while (position < size && text[position] != '"' && text[position] != '\\') {
      unsigned char c = static_cast<unsigned char>(text[position]);
      if (c < 0x20)
        return fail("control character in a string");
      size_t length = c < 0x80 ? 1 : utf8Length(text + position, size - position);
      if (length == 0)
        return fail("not UTF-8");
      position += length;
    }
    if (!value.append(text + begin, position - begin))
      return fail("no memory for a string");
  }
  if (position == size)
    return fail("a string does not end");
  ++position;
  return true;
}

bool JsonReader::readHex(unsigned &code) {
  code = 0;
  for (int i = 0; i < 4; ++i, ++position) {
    char c = position < size ? text[position] : 0;
    unsigned digit = c >= '0' && c <= '9'   ? unsigned(c - '0')
                     : c >= 'a' && c <= 'f' ? unsigned(c - 'a' + 10)
                     : c >= 'A' && c <= 'F' ? unsigned(c - 'A' + 10)
                                            : 16;
    if (digit == 16)
      return fail("expected four hexadecimal digits after \\u");
    code = code << 4 | digit;
  }
  return true;
}

static bool pushUtf8(Vector<char> &value, unsigned code) {
  if (code < 0x80)
    return value.push(char(code));
  if (code < 0x800)
    return value.push(char(0xc0 | code >> 6)) && value.push(char(0x80 | (code & 63)));
  if (code < 0x10000)
    return value.push(char(0xe0 | code >> 12)) && value.push(char(0x80 | (code >> 6 & 63))) &&
           value.push(char(0x80 | (code & 63)));
  return value.push(char(0xf0 | code >> 18)) && value.push(char(0x80 | (code >> 12 & 63))) &&
         value.push(char(0x80 | (code >> 6 & 63))) && value.push(char(0x80 | (code & 63)));
}

bool JsonReader::readEscape(Vector<char> &value, bool allowsNul) {
  static const char names[] = "\"\\/bfnrt", codes[] = "\"\\/\b\f\n\r\t";
  ++position; // the backslash
  char c = position < size ? text[position++] : 0;
  if (c == 'u') {
    unsigned code, low;
    if (!readHex(code))
      return false;
    if (code >= 0xd800 && code < 0xdc00) {
      if (size - position < 2 || text[position] != '\\' || text[position + 1] != 'u')
        return fail("half a surrogate pair");
      position += 2;
      if (!readHex(low))
        return false;
      if (low < 0xdc00 || low > 0xdfff)
        return fail("half a surrogate pair");
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    } else if (code >= 0xdc00 && code <= 0xdfff) {
      return fail("half a surrogate pair");
    }
    if (code == 0 && !allowsNul)
      return fail("a string holds a NUL");
    return pushUtf8(value, code) || fail("no memory for a string");
  }
  const char *found = c ? strchr(names, c) : nullptr;
  if (!found)
    return fail("unknown escape");
  return value.push(codes[found - names]) || fail("no memory for a string");
}

bool JsonReader::readSize(int64_t &value) {
  if (!isGood())
    return false;
  char c = peek();
  if (c < '0' || c > '9')
    return fail("expected an integer of at least 0");
  size_t begin = position;
  value = 0;
  for (; position < size && text[position] >= '0' && text[position] <= '9'; ++position)
    if (__builtin_mul_overflow(value, int64_t(10), &value) ||
        __builtin_add_overflow(value, int64_t(text[position] - '0'), &value))
      return fail("an integer above 2^63 - 1");
  if (c == '0' && position - begin > 1)
    return fail("a number starts with 0");
  c = position < size ? text[position] : 0;
  if (c == '.' || c == 'e' || c == 'E')
    return fail("expected an integer");
  return true;
}

bool JsonReader::skipWord(const char *word) {
  if (!isGood())
    return false;
  peek();
  size_t length = strlen(word);
  if (size - position < length || memcmp(text + position, word, length) != 0)
    return fail("expected a value");
  position += length;
  return true;
}

bool JsonReader::skipNumber() {
  if (!isGood())
    return false;
  peek();
  auto digits = [&] {
    size_t begin = position;
    while (position < size && text[position] >= '0' && text[position] <= '9')
      ++position;
    return position > begin;
  };
  auto at = [&](char c) { return position < size && text[position] == c; };
  if (at('-'))
    ++position;
  bool isZero = at('0');
  size_t begin = position;
  if (!digits())
    return fail("expected a value");
  if (isZero && position - begin > 1)
    return fail("a number starts with 0");
  if (at('.')) {
    ++position;
    if (!digits())
      return fail("expected digits after `.`");
  }
  if (at('e') || at('E')) {
    ++position;
    if (at('+') || at('-'))
      ++position;
    if (!digits())
      return fail("expected digits in an exponent");
  }
  return true;
}

bool JsonReader::skipValue() {
  if (!isGood())
    return false;
  Vector<char> scratch;
  switch (peek()) {
  case '{':
    if (!enterObject())
      return false;
    while (nextKey(scratch))
      if (!skipValue())
        return false;
    return isGood();
  case '[':
    if (!enterArray())
      return false;
    while (nextElement())
      if (!skipValue())
        return false;
    return isGood();
  case '"':
    return readString(scratch);
  case 't':
    return skipWord("true");
  case 'f':
    return skipWord("false");
  case 'n':
    return skipWord("null");
  default:
    return skipNumber();
  }
}

char attn::jsonLetter(uint32_t c) {
  switch (c) {
  case '"':
  case '\\':
    return char(c);
  case '\n':
    return 'n';
  case '\r':
    return 'r';
  case '\t':
    return 't';
  case '\b':
    return 'b';
  case '\f':
    return 'f';
  default:
    return 0;
  }
}

bool attn::appendJsonString(Slice text, Vector<char> &json) {
  bool isGood = json.push('"');
  for (size_t i = 0, length = 1; isGood && i < text.size; i += length) {
    auto c = static_cast<unsigned char>(text.data[i]);
    length = utf8Length(text.data + i, text.size - i);
    if (length == 0) {
      length = invalidLength(text.data + i, text.size - i);
      isGood = append(json, Slice("\xef\xbf\xbd"));
    } else if (char letter = jsonLetter(c)) {
      isGood = json.push('\\') && json.push(letter);
    } else if (c < 32) {
      char code[8];
      snprintf(code, sizeof code, "\\u%04x", unsigned(c));
      isGood = append(json, Slice(code));
    } else {
      isGood = append(json, Slice(text.data + i, length));
    }
  }
  return isGood && json.push('"');
}

void attn::appendJsonString(Text &text, const char *value) {
  Vector<char> json;
  if (!appendJsonString(Slice(value), json))
    return text.fail();
  text.append("%.*s", int(json.size()), json.data());
}
