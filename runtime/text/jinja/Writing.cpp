// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Values as text: as Python prints them, and as JSON.
#include "base/Json.h"
#include "text/jinja/Value.h"
#include "text/steps/Unicode.h"
#include <cmath>
#include <cstdio>

using namespace attn;
using namespace attn::jinja;

/// Appends one of the formats of printf.
template <typename... Values>
static bool appendFormat(Vector<char> &text, const char *format, Values... values) {
  char line[64];
  int size = snprintf(line, sizeof line, format, values...);
  return text.append(line, size_t(size));
}

bool jinja::appendFloat(double real, Vector<char> &text) {
  if (std::isnan(real))
    return append(text, Slice("nan"));
  if (std::isinf(real))
    return append(text, Slice(real < 0 ? "-inf" : "inf"));
  // The fewest digits that give the number back.
  char line[40];
  int digits = 0;
  do
    snprintf(line, sizeof line, "%.*e", digits++, real);
  while (digits < 17 && strtod(line, nullptr) != real);
  char *exponentAt = strchr(line, 'e');
  long exponent = strtol(exponentAt + 1, nullptr, 10);
  if (exponent >= 16 || exponent < -4) {
    *exponentAt = 0;
    return append(text, Slice(line)) && appendFormat(text, "e%c%02ld", exponent < 0 ? '-' : '+',
                                                     exponent < 0 ? -exponent : exponent);
  }
  long behind = digits - 1 - exponent;
  return appendFormat(text, "%.*f", behind > 1 ? int(behind) : 1, real);
}

/// What of a text may be written at most.
static bool isTooLong(const Vector<char> &text) { return text.size() > Memory::mostBytes / 4; }

/// A character in a string of Python's: itself, or what stands for it.
static bool appendEscaped(uint32_t c, Slice bytes, char quote, Vector<char> &text) {
  if (c == '\\' || c == uint32_t(quote))
    return text.push('\\') && text.push(char(c));
  const char *named = c == '\n' ? "\\n" : c == '\r' ? "\\r" : c == '\t' ? "\\t" : nullptr;
  if (named)
    return append(text, Slice(named));
  bool isHidden = c < 32 || (c >= 127 && c < 0xa0) || c == 0xad || (c > 127 && isControl(c)) ||
                  (c > 32 && isPythonSpace(c));
  if (!isHidden)
    return append(text, bytes);
  return appendFormat(text, c < 256 ? "\\x%02x" : c < 65536 ? "\\u%04x" : "\\U%08x", unsigned(c));
}

static bool appendQuoted(Slice string, Vector<char> &text) {
  bool hasSingle = memchr(string.data, '\'', string.size),
       hasDouble = memchr(string.data, '"', string.size);
  char quote = hasSingle && !hasDouble ? '"' : '\'';
  bool isGood = text.push(quote);
  for (size_t i = 0, length; isGood && i < string.size; i += length) {
    uint32_t c = decodeUtf8(string.data + i, length);
    isGood = !isTooLong(text) && appendEscaped(c, string.between(i, i + length), quote, text);
  }
  return isGood && text.push(quote);
}

bool jinja::appendText(const Value &value, Vector<char> &text) {
  if (value.is(Kind::Undefined))
    return true;
  return value.is(Kind::String) ? append(text, value.text()) : appendRepr(value, text);
}

bool jinja::appendRepr(const Value &value, Vector<char> &text, int depth) {
  if (depth > deepestValue || isTooLong(text))
    return false;
  switch (value.kind) {
  case Kind::Undefined:
    return append(text, Slice("Undefined"));
  case Kind::None:
    return append(text, Slice("None"));
  case Kind::Bool:
    return append(text, Slice(value.truth ? "True" : "False"));
  case Kind::Int:
    return appendFormat(text, "%lld", static_cast<long long>(value.whole));
  case Kind::Float:
    return appendFloat(value.real, text);
  case Kind::String:
    return appendQuoted(value.text(), text);
  case Kind::List:
    if (!text.push(value.isTuple ? '(' : '['))
      return false;
    for (size_t i = 0; i < value.size; ++i)
      if ((i && !append(text, Slice(", "))) || !appendRepr(value.items[i], text, depth + 1))
        return false;
    return append(text, Slice(!value.isTuple ? "]" : value.size == 1 ? ",)" : ")"));
  case Kind::Dict:
    if (!text.push('{'))
      return false;
    for (size_t i = 0; i < value.size; ++i)
      if ((i && !append(text, Slice(", "))) || !appendRepr(value.pairs[i].key, text, depth + 1) ||
          !append(text, Slice(": ")) || !appendRepr(value.pairs[i].value, text, depth + 1))
        return false;
    return text.push('}');
  default:
    return false;
  }
}

static bool appendStyledString(Slice string, bool isAscii, Vector<char> &text) {
  if (!isAscii)
    return !isTooLong(text) && appendJsonString(string, text);
  bool isGood = text.push('"');
  for (size_t i = 0, length; isGood && i < string.size; i += length) {
    uint32_t c = decodeUtf8(string.data + i, length);
    if (isTooLong(text))
      return false;
    if (char letter = jsonLetter(c))
      isGood = text.push('\\') && text.push(letter);
    else if (c >= 65536)
      isGood = appendFormat(text, "\\u%04x\\u%04x", unsigned(0xd800 + ((c - 65536) >> 10)),
                            unsigned(0xdc00 + (c & 1023)));
    else if (c < 32 || c > 126)
      isGood = appendFormat(text, "\\u%04x", unsigned(c));
    else
      isGood = append(text, string.between(i, i + length));
  }
  return isGood && text.push('"');
}

/// A line's end and its indentation, where there are lines.
static bool appendLine(const JsonStyle &style, int depth, Vector<char> &text) {
  bool isGood = !style.indent.data || text.push('\n');
  for (int i = 0; style.indent.data && isGood && i < depth; ++i)
    isGood = !isTooLong(text) && append(text, style.indent);
  return isGood;
}

/// A key: JSON has strings alone.
static bool appendKey(const Value &key, const JsonStyle &style, Vector<char> &text) {
  if (key.is(Kind::String))
    return appendStyledString(key.text(), style.isAscii, text);
  bool isPlain = key.isNumber() || key.is(Kind::None);
  return isPlain && text.push('"') && appendJson(key, style, text) && text.push('"');
}

static bool appendMembers(const Value &value, const JsonStyle &style, Vector<char> &text,
                          int depth) {
  Memory steps;
  Vector<const Pair *> order;
  for (size_t i = 0; i < value.size; ++i) {
    if (!order.push(&value.pairs[i]))
      return false;
    int sign = -1;
    for (size_t at = i; style.areKeysSorted && at > 0; --at) {
      if (!compare(order[at - 1]->key, order[at]->key, steps, sign))
        return false;
      if (sign <= 0)
        break;
      const Pair *other = order[at];
      order[at] = order[at - 1], order[at - 1] = other;
    }
  }
  for (size_t i = 0; i < order.size(); ++i)
    if ((i && !append(text, style.itemSeparator)) || !appendLine(style, depth + 1, text) ||
        !appendKey(order[i]->key, style, text) || !append(text, style.keySeparator) ||
        !appendJson(order[i]->value, style, text, depth + 1))
      return false;
  return order.empty() || appendLine(style, depth, text);
}

bool jinja::appendJson(const Value &value, const JsonStyle &style, Vector<char> &text, int depth) {
  if (depth > deepestValue || isTooLong(text))
    return false;
  switch (value.kind) {
  case Kind::None:
    return append(text, Slice("null"));
  case Kind::Bool:
    return append(text, Slice(value.truth ? "true" : "false"));
  case Kind::Int:
    return appendFormat(text, "%lld", static_cast<long long>(value.whole));
  case Kind::Float:
    if (!std::isfinite(value.real))
      return append(text, Slice(std::isnan(value.real) ? "NaN"
                                : value.real < 0       ? "-Infinity"
                                                       : "Infinity"));
    return appendFloat(value.real, text);
  case Kind::String:
    return appendStyledString(value.text(), style.isAscii, text);
  case Kind::List:
    if (!text.push('['))
      return false;
    for (size_t i = 0; i < value.size; ++i)
      if ((i && !append(text, style.itemSeparator)) || !appendLine(style, depth + 1, text) ||
          !appendJson(value.items[i], style, text, depth + 1))
        return false;
    return (value.size == 0 || appendLine(style, depth, text)) && text.push(']');
  case Kind::Dict:
    return text.push('{') && appendMembers(value, style, text, depth) && text.push('}');
  default:
    return false;
  }
}
