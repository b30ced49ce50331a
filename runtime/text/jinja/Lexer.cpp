// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tokens, one kind after the other, and where errors are.
#include "text/jinja/Lexer.h"
#include "text/jinja/Value.h"
#include "text/steps/Unicode.h"
#include <cstdarg>
#include <cstdio>

using namespace attn;
using namespace attn::jinja;

bool Diagnostics::fail(const char *code, size_t at, const char *format, ...) {
  if (hasFailed())
    return false;
  size_t line = 1, begin = 0;
  at = at < source.size ? at : source.size;
  for (size_t i = 0; i < at; ++i)
    if (source.data[i] == '\n')
      ++line, begin = i + 1;
  char text[768];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  Text quoted; // a template's words may be hostile
  quoted.appendQuoted(text, strlen(text));
  bool isMemory = strcmp(code, "R0401") == 0;
  error.set(isMemory ? ATTN_OUT_OF_MEMORY : ATTN_BAD_INPUT, code, "%s:%zu:%zu: %s", name, line,
            characters(source.between(begin, at)) + 1, quoted.c_str());
  return false;
}

static bool isLetter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool isDigit(char c) { return c >= '0' && c <= '9'; }

bool Lexer::push(TokenKind kind, size_t from, Slice text) {
  beginsLine = false;
  return tokens.push({kind, uint32_t(from), text}) || noMemory();
}

void Lexer::skipSpace() {
  Slice rest = source.from(at);
  at = source.size - strip(rest, nullptr, true, false).size;
}

bool Lexer::run() {
  while (at < source.size)
    if (!readData())
      return false;
  return push(TokenKind::End, at, Slice());
}

bool Lexer::readData() {
  if (stripsNext)
    skipSpace();
  size_t begin = at, end = at;
  auto isTag = [&](size_t i) {
    char next = i + 1 < source.size ? source.data[i + 1] : 0;
    return source.data[i] == '{' && (next == '{' || next == '%' || next == '#');
  };
  while (end < source.size && !isTag(end))
    ++end;
  Slice text = source.between(begin, end);
  if (end < source.size) {
    char kind = source.data[end + 1], sign = end + 2 < source.size ? source.data[end + 2] : 0;
    if (sign == '-') {
      text = strip(text, nullptr, false, true);
    } else if (sign != '+' && kind != '{') {
      // What is before a block on its line, where that is white space.
      size_t line = text.size;
      while (line > 0 && text.data[line - 1] != '\n')
        --line;
      bool isWhole = line > 0 || (beginsLine && !stripsNext) || (beginsLine && begin == 0);
      if (isWhole && strip(text.from(line), nullptr, true, false).size == 0)
        text.size = line;
    }
  }
  stripsNext = false;
  if (text.size > 0 && !push(TokenKind::Data, begin, text))
    return false;
  at = end;
  if (at == source.size)
    return true;
  return source.data[at + 1] == '#' ? skipComment() : readTag();
}

bool Lexer::skipComment() {
  size_t begin = at;
  at += 2;
  while (at + 1 < source.size && !startsWith("#}"))
    ++at;
  if (at + 1 >= source.size)
    return diagnostics.fail("R0705", begin, "this comment has no end: `#}`");
  char sign = at > begin + 2 ? source.data[at - 1] : 0;
  at += 2;
  stripsNext = sign == '-';
  beginsLine = sign != '-' && sign != '+' && at < source.size && source.data[at] == '\n';
  at += beginsLine;
  return true;
}

bool Lexer::takeEnd(bool isBlock, bool &isEnd) {
  const char *plain = isBlock ? "%}" : "}}", *stripped = isBlock ? "-%}" : "-}}";
  size_t begin = at;
  bool strips = startsWith(stripped), keeps = isBlock && startsWith("+%}");
  isEnd = brackets.empty() && (strips || keeps || startsWith(plain));
  if (!isEnd)
    return true;
  at += strips || keeps ? 3 : 2;
  bool endsLine = isBlock && !strips && !keeps && at < source.size && source.data[at] == '\n';
  at += endsLine;
  stripsNext = strips;
  if (!push(isBlock ? TokenKind::EndBlock : TokenKind::EndPrint, begin, Slice()))
    return false;
  beginsLine = endsLine;
  return true;
}

bool Lexer::readTag() {
  size_t begin = at;
  bool isBlock = source.data[at + 1] == '%';
  at += 2;
  if (at < source.size && (source.data[at] == '-' || (isBlock && source.data[at] == '+')))
    ++at;
  if (!push(isBlock ? TokenKind::BeginBlock : TokenKind::BeginPrint, begin, Slice()))
    return false;
  brackets.clear();
  while (true) {
    skipSpace();
    if (at >= source.size)
      return diagnostics.fail("R0705", begin, "this has no end: `%s`", isBlock ? "%}" : "}}");
    bool isEnd = false;
    if (!takeEnd(isBlock, isEnd))
      return false;
    if (isEnd)
      return true;
    char c = source.data[at];
    bool isRead = isLetter(c)             ? readWord()
                  : isDigit(c)            ? readNumber()
                  : c == '"' || c == '\'' ? readString()
                                          : readOperator();
    if (!isRead)
      return false;
  }
}

bool Lexer::readWord() {
  size_t begin = at;
  while (at < source.size && (isLetter(source.data[at]) || isDigit(source.data[at])))
    ++at;
  return push(TokenKind::Name, begin, source.between(begin, at));
}

bool Lexer::readNumber() {
  size_t begin = at;
  bool isFloat = false;
  auto digits = [&] {
    while (at < source.size && isDigit(source.data[at]))
      ++at;
  };
  digits();
  bool isIndex = source.data[begin - 1] == '.'; // `a.0.1`: the first of an item of `a`
  if (!isIndex && at + 1 < source.size && source.data[at] == '.' && isDigit(source.data[at + 1])) {
    isFloat = true;
    ++at;
    digits();
  }
  if (at < source.size && (source.data[at] | 32) == 'e') {
    size_t sign = at + 1 < source.size && strchr("+-", source.data[at + 1]) ? 2 : 1;
    if (at + sign < source.size && isDigit(source.data[at + sign])) {
      isFloat = true;
      at += sign;
      digits();
    }
  }
  if (at < source.size && isLetter(source.data[at]))
    return diagnostics.fail("R0705", begin, "expected a decimal number");
  return push(isFloat ? TokenKind::Float : TokenKind::Int, begin, source.between(begin, at));
}

bool Lexer::readString() {
  size_t begin = at++;
  char quote = source.data[begin];
  bool hasEscapes = false;
  while (at < source.size && source.data[at] != quote) {
    hasEscapes |= source.data[at] == '\\';
    at += source.data[at] == '\\' ? 2 : 1;
  }
  if (at >= source.size)
    return diagnostics.fail("R0705", begin, "this string has no end: %c", quote);
  Slice text = source.between(begin + 1, at++);
  if (hasEscapes && !unescape(text, begin, text))
    return false;
  return push(TokenKind::String, begin, text);
}

/// Reads `count` hexadecimal digits, or up to three octal ones (`count` 0).
static bool readCode(Slice raw, size_t &at, size_t count, Char &code) {
  unsigned base = count ? 16 : 8;
  size_t most = count ? count : 3, taken = 0;
  code = 0;
  for (; taken < most && at < raw.size; ++taken, ++at) {
    unsigned char c = static_cast<unsigned char>(raw.data[at]);
    unsigned digit = c >= '0' && c <= '9' ? c - '0' : (c | 32) >= 'a' ? (c | 32) - 'a' + 10u : 99;
    if (digit >= base)
      break;
    code = code * base + digit;
  }
  bool isCharacter = code < 0x110000 && (code < 0xd800 || code > 0xdfff);
  return isCharacter && (count == 0 || taken == count);
}

bool Lexer::unescape(Slice raw, size_t from, Slice &text) {
  auto *made = static_cast<char *>(memory.take(raw.size + 1));
  if (!made)
    return noMemory();
  size_t size = 0;
  for (size_t i = 0; i < raw.size;) {
    char c = raw.data[i++];
    if (c != '\\' || i >= raw.size) {
      made[size++] = c;
      continue;
    }
    char escaped = raw.data[i++];
    const char *letters = "n\nt\tr\rb\bf\fv\va\a\\\\''\"\"", *found = letters;
    while (*found && *found != escaped)
      found += 2;
    size_t digits = escaped == 'x' ? 2 : escaped == 'u' ? 4 : escaped == 'U' ? 8 : 0;
    Char code;
    if (*found) {
      made[size++] = found[1];
    } else if (digits || (escaped >= '0' && escaped <= '7')) {
      i -= digits ? 0 : 1;
      if (!readCode(raw, i, digits, code))
        return diagnostics.fail("R0705", from, "`\\%c` stands for no character here", escaped);
      size += encodeUtf8(code, made + size);
    } else if (escaped == 'N') {
      return diagnostics.fail("R0705", from, "`\\N` is not read");
    } else if (escaped != '\n') {
      made[size++] = '\\';
      --i; // what follows may be a character of several bytes
      made[size++] = raw.data[i++];
    }
  }
  text = {made, size};
  return true;
}

bool Lexer::readOperator() {
  static const char *const operators[] = {"==", "!=", ">=", "<=", "//", "**", "+", "-", "*",
                                          "/",  "%",  "~",  "<",  ">",  "=",  ".", ":", "|",
                                          ",",  ";",  "(",  "[",  "{",  ")",  "]", "}"};
  for (const char *known : operators) {
    if (!startsWith(known))
      continue;
    size_t begin = at;
    const char *closing = strchr("()[]{}", *known);
    if (closing && strchr("([{", *known)) {
      if (!brackets.push(closing[1]))
        return noMemory();
    } else if (closing) {
      if (brackets.empty() || brackets.back() != *known)
        return diagnostics.fail("R0705", at, "`%s` closes nothing", known);
      brackets.pop();
    }
    at += strlen(known);
    return push(TokenKind::Operator, begin, source.between(begin, at));
  }
  unsigned char c = static_cast<unsigned char>(source.data[at]);
  return c < 32 || c > 126 ? diagnostics.fail("R0705", at, "this character stands for nothing here")
                           : diagnostics.fail("R0705", at, "`%c` stands for nothing here", c);
}
