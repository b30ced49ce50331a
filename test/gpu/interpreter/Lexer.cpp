// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
#include "test/gpu/interpreter/Lexer.h"
#include "test/gpu/interpreter/Numbers.h"
#include <cctype>
#include <cstdlib>

namespace attn::ptx {
namespace {

class Lexer {
public:
  explicit Lexer(const std::string &text) : text(text) {}

  std::vector<Token> run() {
    while (skipBlanks(), at < text.size()) {
      char c = text[at];
      if (std::isalpha(c) || c == '_' || c == '$' || c == '%' || c == '.')
        word();
      else if (std::isdigit(c))
        number();
      else if (c == '"')
        quoted();
      else
        add(Token::Kind::Mark, at++);
    }
    tokens.push_back({Token::Kind::End, "the end of the text", 0, line});
    return std::move(tokens);
  }

private:
  char peek(size_t ahead = 0) const { return at + ahead < text.size() ? text[at + ahead] : '\0'; }

  void add(Token::Kind kind, size_t begin, uint64_t bits = 0) {
    tokens.push_back({kind, text.substr(begin, at - begin), bits, line});
  }

  void skipBlanks() {
    for (; at < text.size(); ++at) {
      if (text[at] == '\n') {
        ++line;
      } else if (peek() == '/' && peek(1) == '/') {
        while (peek(1) && peek(1) != '\n')
          ++at;
      } else if (peek() == '/' && peek(1) == '*') {
        while (peek(2) && !(peek(2) == '*' && peek(3) == '/'))
          line += text[++at] == '\n';
        at += 3;
      } else if (!std::isspace(text[at])) {
        return;
      }
    }
  }

  void word() {
    size_t begin = at++;
    while (std::isalnum(peek()) || peek() == '_' || peek() == '$' || peek() == '.' ||
           (peek() == ':' && peek(1) == ':') || (peek() == ':' && text[at - 1] == ':'))
      ++at;
    add(Token::Kind::Word, begin);
  }

  void number() {
    size_t begin = at;
    char kind = std::tolower(peek(1));
    bool prefixed = peek() == '0' && (kind == 'x' || kind == 'f' || kind == 'd' || kind == 'b');
    at += prefixed ? 2 : 0;
    while (std::isxdigit(peek()))
      ++at;
    bool decimalPoint = !prefixed && peek() == '.' && std::isdigit(peek(1));
    if (decimalPoint)
      while (std::isalnum(peek()) || peek() == '.')
        ++at;
    std::string digits = text.substr(begin + (prefixed ? 2 : 0), at - begin);
    int base = !prefixed ? (digits[0] == '0' ? 8 : 10) : kind == 'b' ? 2 : 16;
    uint64_t bits = decimalPoint ? bitCast<uint64_t>(std::strtod(digits.c_str(), nullptr))
                                 : std::strtoull(digits.c_str(), nullptr, base);
    add(Token::Kind::Number, begin, bits);
    if (peek() == 'U')
      ++at;
  }

  void quoted() {
    size_t begin = ++at;
    while (peek() && peek() != '"')
      ++at;
    add(Token::Kind::Text, begin);
    ++at;
  }

  const std::string &text;
  size_t at = 0;
  int line = 1;
  std::vector<Token> tokens;
};

} // namespace

std::vector<Token> tokenize(const std::string &text) { return Lexer(text).run(); }

} // namespace attn::ptx
