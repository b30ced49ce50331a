// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Regular expressions, as ECMA-262 has them, but for what no automaton can do.
#pragma once

#include "text/grammar/Expressions.h"

namespace attn::grammar {

class JsonParts;

/// How an expression is read.
struct RegexOptions {
  /// A text fits where some part of it matches, as `pattern` of JSON schema has it; else where all
  /// of it does.
  bool isSearched = false;
  bool ignoresCase = false;  ///< of ASCII's letters
  bool dotIsAll = false;     ///< `.` is any character
  bool isVerbose = false;    ///< white space and comments say nothing
  JsonParts *json = nullptr; ///< characters are those within a string of JSON
};

/// What could not be read, and where.
struct RegexProblem {
  const char *what = nullptr; ///< null: nothing
  size_t position = 0;        ///< in bytes
};

/// The texts that fit an expression. Where it cannot be read, `problem` says why, and the result is
/// Never.
Id compileRegex(Expressions &to, Slice expression, const RegexOptions &options,
                RegexProblem &problem);

/// Makes `result` of the texts of `written` that have `least` to `most` characters, which `plain`
/// has the same of without backslashes. False where no expression is known for these.
bool limitLength(Expressions &to, Id plain, Id written, uint32_t least, uint32_t most, Id &result);

/// Adds the ranges of `\d`, `\w`, `\s` (ECMA-262, 22.2.2.9); false for another letter.
bool addClass(unsigned char letter, Vector<CharacterRange> &ranges);
/// Adds the characters of a general category of Unicode, `L` or `Lu`; false where there is none.
bool addCategory(Slice name, Vector<CharacterRange> &ranges);

} // namespace attn::grammar
