// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A template's text as tokens: what is printed as it stands, and the words between braces. White
// space is taken away as the published libraries set it: the first line's end behind a block, and
// what is before a block on its line.
#pragma once

#include "base/Error.h"
#include "text/jinja/Memory.h"

namespace attn::jinja {

/// Where a template's errors go, with line and column.
class Diagnostics {
public:
  Diagnostics(const char *name, Slice source, Error &error)
      : name(name), source(source), error(error) {}
  /// Reports the first error, at an offset of the source; false, for `return fail(...)`.
  bool fail(const char *code, size_t at, const char *format, ...)
      __attribute__((format(printf, 4, 5)));
  bool hasFailed() const { return error.status != ATTN_OK; }

private:
  const char *name;
  Slice source;
  Error &error;
};

/// What a token is.
enum class TokenKind : uint8_t {
  Data,
  BeginBlock,
  EndBlock,
  BeginPrint,
  EndPrint,
  Name,
  String,
  Int,
  Float,
  Operator,
  End
};

/// A token: of a string, `text` is what it stands for.
struct Token {
  TokenKind kind;
  uint32_t at; ///< offset in the source
  Slice text;
};

/// Cuts a source into tokens.
class Lexer {
public:
  Lexer(Slice source, Memory &memory, Diagnostics &diagnostics, Vector<Token> &tokens)
      : source(source), memory(memory), diagnostics(diagnostics), tokens(tokens) {}
  /// False after an error, which has been reported.
  bool run();

private:
  /// Text up to the next tag, and the tag.
  bool readData();
  /// A comment, which leaves nothing.
  bool skipComment();
  /// A block or what is printed, from its first brace to its last.
  bool readTag();
  /// Takes the end of a tag, where it is there.
  bool takeEnd(bool isBlock, bool &isEnd);
  bool readWord();
  bool readNumber();
  bool readString();
  bool unescape(Slice raw, size_t at, Slice &text);
  bool readOperator();
  bool push(TokenKind kind, size_t from, Slice text);
  bool noMemory() { return diagnostics.fail("R0401", at, "%s", memory.problem()); }
  bool startsWith(const char *text) const { return source.from(at).startsWith(Slice(text)); }
  void skipSpace();

  Slice source;
  Memory &memory;
  Diagnostics &diagnostics;
  Vector<Token> &tokens;
  size_t at = 0;
  bool beginsLine = true;  ///< whether a line's end, or nothing, is before `at`
  bool stripsNext = false; ///< whether white space at `at` is left out
  Vector<char> brackets;   ///< those that are open in a tag
};

} // namespace attn::jinja
