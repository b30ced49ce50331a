// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Characters to tokens: words, numbers, strings, operators, comments; operators of other languages
// become the ones that were meant, with an error.
#include "compiler/frontend/syntax/Lexer.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Support/ErrorHandling.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

namespace attn::frontend {
namespace {

bool startsWord(char c) { return llvm::isAlpha(c) || c == '_'; }
bool inWord(char c) { return llvm::isAlnum(c) || c == '_'; }

/// An operator of other languages or of mathematics, and what it is here.
struct Foreign {
  llvm::StringLiteral spelling;
  TokenKind kind;
  llvm::StringLiteral meant;
};
constexpr Foreign foreignOperators[] = {
    {"&&", TokenKind::Word, "and"},    {"||", TokenKind::Word, "or"},
    {"!", TokenKind::Word, "not"},     {"^", TokenKind::StarStar, "**"},
    {"=>", TokenKind::Arrow, "->"},    {"→", TokenKind::Arrow, "->"},
    {"≤", TokenKind::LessEqual, "<="}, {"≥", TokenKind::GreaterEqual, ">="},
    {"≠", TokenKind::NotEqual, "!="},  {"·", TokenKind::Star, "*"},
    {"<>", TokenKind::NotEqual, "!="}, {":=", TokenKind::Equal, "="},
    {"&", TokenKind::Word, "and"},     {"|", TokenKind::Word, "or"},
};

struct Operator {
  llvm::StringLiteral spelling;
  TokenKind kind;
};
/// Longer ones before their prefixes.
constexpr Operator operators[] = {
    {"->", TokenKind::Arrow},       {"??", TokenKind::QuestionQuestion},
    {"==", TokenKind::EqualEqual},  {"!=", TokenKind::NotEqual},
    {"<=", TokenKind::LessEqual},   {">=", TokenKind::GreaterEqual},
    {"**", TokenKind::StarStar},    {"{", TokenKind::LeftBrace},
    {"}", TokenKind::RightBrace},   {"(", TokenKind::LeftParen},
    {")", TokenKind::RightParen},   {"[", TokenKind::LeftBracket},
    {"]", TokenKind::RightBracket}, {",", TokenKind::Comma},
    {":", TokenKind::Colon},        {";", TokenKind::Semicolon},
    {"=", TokenKind::Equal},        {".", TokenKind::Dot},
    {"@", TokenKind::At},           {"<", TokenKind::Less},
    {">", TokenKind::Greater},      {"+", TokenKind::Plus},
    {"-", TokenKind::Minus},        {"*", TokenKind::Star},
    {"/", TokenKind::Slash},        {"%", TokenKind::Percent},
};

class Lexer {
public:
  Lexer(const SourceFile &file, DiagnosticEngine &diagnostics, SourceRange part)
      : file(file), text(file.text({0, part.end})), diagnostics(diagnostics), at(part.begin) {}

  TokenStream run() {
    if (rest().size() > largestFile) {
      diagnostics.error(DiagCode::FileTooLarge,
                        llvm::formatv("`{0}` has {1} bytes; a spec has at most {2}",
                                      file.nameAt(at), rest().size(), largestFile));
      text = text.take_front(at);
    }
    if (rest().starts_with("\xEF\xBB\xBF")) // a byte order mark
      at += 3;
    while (at < text.size())
      lexOne();
    add(TokenKind::End, text.size());
    return std::move(stream);
  }

private:
  void lexOne() {
    char c = text[at];
    if (llvm::isSpace(c))
      ++at;
    else if (rest().starts_with("//"))
      lexComment(2);
    else if (c == '#' || rest().starts_with("/*"))
      lexForeignComment();
    else if (afterDot() && inWord(c))
      lexWord();
    else if (startsWord(c) || isForeignLetter())
      lexWord();
    else if (llvm::isDigit(c))
      lexNumber();
    else if (c == '.' && llvm::isDigit(peek(1)) && !afterOperand())
      lexNumber();
    else if (c == '"' || c == '\'' || rest().starts_with("“"))
      lexString();
    else if (!lexOperator())
      lexUnexpected();
  }

  void lexComment(size_t markerLength) {
    uint32_t begin = at;
    at = std::min(text.size(), text.find_first_of("\r\n", at + markerLength));
    stream.comments.push_back({{begin, static_cast<uint32_t>(at)}});
  }

  void lexForeignComment() {
    uint32_t begin = at;
    bool block = text[at] == '/';
    size_t end = block ? text.find("*/", at + 2) : text.find_first_of("\r\n", at);
    at = end == llvm::StringRef::npos ? text.size() : end + (block ? 2 : 0);
    error(DiagCode::BlockComment, {begin, begin + (block ? 2u : 1u)},
          "comments are written with `//` and end with the line")
        .help("begin each line of the comment with `//`",
              block ? std::nullopt : std::optional(Edit{{begin, begin + 1}, "//"}));
  }

  void lexWord() {
    size_t begin = at;
    bool foreign = false;
    while (at < text.size() && (inWord(text[at]) || isForeignLetter())) {
      foreign |= !inWord(text[at]);
      ++at;
    }
    SourceRange range{static_cast<uint32_t>(begin), static_cast<uint32_t>(at)};
    bool component = afterDot();
    add(TokenKind::Word, begin);
    stream.tokens.back().afterDot = component;
    stream.tokens.back().beforeDot = peek(0) == '.' && inWord(peek(1));
    if (!foreign)
      return;
    stream.tokens.back().afterError = true;
    if (llvm::json::isUTF8(file.text(range)))
      error(DiagCode::UnexpectedCharacter, range, "`" + file.text(range) + "` is not a name")
          .help("names consist of ASCII letters, digits and `_`");
    else
      error(DiagCode::InvalidUtf8, range, "this is not UTF-8 text").note("is this file a spec?");
  }

  /// Whether a byte of a letter outside of ASCII is here, as in a name of another language.
  bool isForeignLetter() const {
    if (static_cast<unsigned char>(text[at]) < 0x80 || rest().starts_with("“") ||
        rest().starts_with("”"))
      return false;
    return llvm::none_of(foreignOperators,
                         [&](const Foreign &f) { return rest().starts_with(f.spelling); });
  }

  void lexNumber() {
    size_t begin = at;
    bool isFloat = false;
    digits();
    if (peek(0) == '.' && llvm::isDigit(peek(1))) {
      isFloat = true;
      ++at;
      digits();
    }
    bool badExponent = false;
    if (peek(0) == 'e' || peek(0) == 'E') {
      size_t sign = peek(1) == '+' || peek(1) == '-';
      if (llvm::isDigit(peek(1 + sign))) {
        isFloat = true;
        at += 1 + sign;
        digits();
      } else if (!inWord(peek(1))) {
        badExponent = true;
        at += 1 + sign;
      }
    }
    size_t end = at;
    if (!isFloat && peek(0) == 'x' && llvm::isDigit(peek(1)))
      return splitSizes(begin);
    while (inWord(peek(0)) || (peek(0) == '.' && llvm::isDigit(peek(1))))
      ++at;
    SourceRange range{static_cast<uint32_t>(begin), static_cast<uint32_t>(at)};
    llvm::StringRef number = text.slice(begin, end);
    if (text[begin] == '.')
      error(DiagCode::MalformedNumber, range, "a number begins with a digit")
          .write(range, "0" + text.slice(begin, at));
    else if (badExponent)
      error(DiagCode::MalformedNumber, range,
            "the exponent of `" + text.slice(begin, at) + "` has no digits");
    else if (end != at)
      error(DiagCode::MalformedNumber, range,
            "`" + text.slice(begin, at) + "` is neither a number nor a name")
          .help("names begin with a letter; a number and a word need a space between them");
    stream.tokens.push_back({isFloat ? TokenKind::Float : TokenKind::Integer, false,
                             badExponent ? number.take_while(llvm::isDigit) : number, range,
                             std::exchange(skipped, false)});
  }

  /// `224x224` -> `224`, `x`, `224`.
  void splitSizes(size_t begin) {
    add(TokenKind::Integer, begin);
    size_t x = at++;
    add(TokenKind::Word, x);
    size_t second = at;
    digits();
    add(TokenKind::Integer, second);
    llvm::StringRef sizes = text.slice(begin, at);
    SourceRange range{static_cast<uint32_t>(begin), static_cast<uint32_t>(at)};
    error(DiagCode::MalformedNumber, range, "`" + sizes + "` is neither a number nor a name")
        .write(range, sizes.take_while(llvm::isDigit) + " x " +
                          text.slice(second, second + sizes.size() - (second - begin)));
  }

  void lexString() {
    size_t begin = at;
    llvm::StringRef open = rest().starts_with("“") ? llvm::StringRef("“") : rest().take_front(1);
    llvm::StringRef close = open == "“" ? llvm::StringRef("”") : open;
    at += open.size();
    while (at < text.size() && text[at] != '\n' && text[at] != '\r' && !rest().starts_with(close)) {
      if (text[at] == '\\' && open == "\"")
        lexEscape();
      else
        ++at;
    }
    bool closed = rest().starts_with(close);
    size_t contentEnd = at;
    at += closed ? close.size() : 0;
    SourceRange range{static_cast<uint32_t>(begin), static_cast<uint32_t>(at)};
    if (!closed)
      error(DiagCode::UnterminatedString, range, "this string does not end on its line")
          .help("close it with `\"`");
    else if (open != "\"")
      error(DiagCode::UnexpectedCharacter, range, "strings are written with `\"`")
          .write(range, "\"" + text.slice(begin + open.size(), contentEnd) + "\"");
    else if (!llvm::json::isUTF8(text.slice(begin, at)))
      error(DiagCode::InvalidUtf8, range, "this string is not UTF-8 text");
    add(TokenKind::String, begin);
  }

  void lexEscape() {
    char next = peek(1);
    if (next == '"' || next == '\\' || next == 'n') {
      at += 2;
      return;
    }
    uint32_t begin = at++;
    error(DiagCode::UnknownEscape, {begin, begin + 1},
          "in a string, `\\` stands only before `\"`, `\\` or `n`")
        .help("write `\\\\` for a backslash", Edit{{begin, begin + 1}, "\\\\"});
  }

  bool lexOperator() {
    size_t begin = at;
    // `!=` before the foreign `!`, `<=` before nothing foreign: own operators of two characters
    // win.
    for (const Operator &op : operators)
      if (op.spelling.size() == 2 && rest().starts_with(op.spelling))
        return at += 2, add(op.kind, begin), true;
    for (const Foreign &foreign : foreignOperators)
      if (rest().starts_with(foreign.spelling)) {
        at += foreign.spelling.size();
        SourceRange range{static_cast<uint32_t>(begin), static_cast<uint32_t>(at)};
        error(DiagCode::ForeignOperator, range,
              "`" + foreign.spelling + "` is not an operator of this language")
            .write(range, foreign.meant);
        stream.tokens.push_back({foreign.kind, false, foreign.meant, range});
        return true;
      }
    for (const Operator &op : operators)
      if (rest().starts_with(op.spelling))
        return at += 1, add(op.kind, begin), true;
    return false;
  }

  /// Reports a run of characters that mean nothing as one.
  void lexUnexpected() {
    uint32_t begin = at;
    unsigned char first = text[at];
    while (at < text.size() && static_cast<unsigned char>(text[at]) == first)
      ++at;
    skipped = true;
    SourceRange range{begin, static_cast<uint32_t>(at)};
    llvm::StringRef run = text.slice(begin, at);
    if (first < 0x20 || first == 0x7F)
      error(DiagCode::UnexpectedCharacter, range, llvm::formatv("unexpected byte {0:x2}", first))
          .note("is this file a spec?");
    else
      error(DiagCode::UnexpectedCharacter, range, "unexpected `" + run + "`");
  }

  void digits() {
    while (llvm::isDigit(peek(0)))
      ++at;
  }

  llvm::StringRef rest() const { return text.substr(at); }
  char peek(size_t ahead) const { return at + ahead < text.size() ? text[at + ahead] : '\0'; }

  bool afterDot() const {
    return !stream.tokens.empty() && stream.tokens.back().is(TokenKind::Dot);
  }

  /// Whether a dot here selects from what precedes it.
  bool afterOperand() const {
    if (stream.tokens.empty())
      return false;
    TokenKind kind = stream.tokens.back().kind;
    return kind == TokenKind::Word || kind == TokenKind::RightParen ||
           kind == TokenKind::RightBracket;
  }

  void add(TokenKind kind, size_t begin) {
    SourceRange range{static_cast<uint32_t>(begin), static_cast<uint32_t>(at)};
    stream.tokens.push_back(
        {kind, false, text.slice(begin, at), range, std::exchange(skipped, false)});
  }

  Diagnostic &error(DiagCode code, SourceRange range, const llvm::Twine &message) {
    // A file of garbage is not worth a message for each piece of it.
    if (diagnostics.errorCount() >= 100)
      at = text.size();
    return diagnostics.error(code, range, message);
  }

  const SourceFile &file;
  llvm::StringRef text;
  DiagnosticEngine &diagnostics;
  bool skipped = false; ///< Characters before the next token were reported and left out.
  TokenStream stream;
  size_t at;
};

} // namespace

bool isReserved(llvm::StringRef word) {
  static const llvm::StringSet<> words = {
      "model", "block", "cell",   "entry",  "stack", "dim",  "dyn",   "linear",
      "param", "let",   "return", "attend", "scan",  "over", "along", "as",
      "if",    "then",  "else",   "and",    "or",    "not",  "with",  "optional"};
  return words.contains(word);
}

bool Token::isReserved() const {
  return kind == TokenKind::Word && !inPath() && frontend::isReserved(text);
}

llvm::StringRef describe(TokenKind kind) {
  switch (kind) {
  case TokenKind::End:
    return "the end of the file";
  case TokenKind::Word:
    return "a name";
  case TokenKind::Integer:
    return "a whole number";
  case TokenKind::Float:
    return "a number";
  case TokenKind::String:
    return "a string";
  case TokenKind::LeftBrace:
    return "`{`";
  case TokenKind::RightBrace:
    return "`}`";
  case TokenKind::LeftParen:
    return "`(`";
  case TokenKind::RightParen:
    return "`)`";
  case TokenKind::LeftBracket:
    return "`[`";
  case TokenKind::RightBracket:
    return "`]`";
  case TokenKind::Comma:
    return "`,`";
  case TokenKind::Colon:
    return "`:`";
  case TokenKind::Semicolon:
    return "`;`";
  case TokenKind::Arrow:
    return "`->`";
  case TokenKind::Equal:
    return "`=`";
  case TokenKind::Dot:
    return "`.`";
  case TokenKind::At:
    return "`@`";
  case TokenKind::QuestionQuestion:
    return "`??`";
  case TokenKind::EqualEqual:
    return "`==`";
  case TokenKind::NotEqual:
    return "`!=`";
  case TokenKind::Less:
    return "`<`";
  case TokenKind::LessEqual:
    return "`<=`";
  case TokenKind::Greater:
    return "`>`";
  case TokenKind::GreaterEqual:
    return "`>=`";
  case TokenKind::Plus:
    return "`+`";
  case TokenKind::Minus:
    return "`-`";
  case TokenKind::Star:
    return "`*`";
  case TokenKind::StarStar:
    return "`**`";
  case TokenKind::Slash:
    return "`/`";
  case TokenKind::Percent:
    return "`%`";
  }
  llvm_unreachable("covered");
}

TokenStream lex(const SourceFile &file, DiagnosticEngine &diagnostics,
                std::optional<SourceRange> part) {
  SourceRange own{0, static_cast<uint32_t>(file.text().size())};
  return Lexer(file, diagnostics, part.value_or(own)).run();
}

std::string stringValue(llvm::StringRef quoted) {
  bool curly = quoted.starts_with("“");
  llvm::StringRef close = curly ? "”" : quoted.take_front(1);
  llvm::StringRef body = quoted.drop_front(std::min<size_t>(curly ? 3 : 1, quoted.size()));
  std::string value;
  for (size_t i = 0; i < body.size() && !body.substr(i).starts_with(close); ++i) {
    bool escape = close == "\"" && body[i] == '\\' && i + 1 < body.size() &&
                  (body[i + 1] == '"' || body[i + 1] == '\\' || body[i + 1] == 'n');
    i += escape;
    value += escape && body[i] == 'n' ? '\n' : body[i];
  }
  return value;
}

} // namespace attn::frontend
