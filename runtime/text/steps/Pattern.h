// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What texts are searched for: a string, a regular expression, or a set of characters.
#pragma once

#include "base/Error.h"
#include "text/steps/Unicode.h"

struct pcre2_real_code_8;

namespace attn {

/// A pattern; a plain value, whose strings and expression others own.
struct Pattern {
  /// What is searched for.
  enum Kind { String, Regex, Set };
  Kind kind = String;
  Slice string;                      ///< of String: what is searched for; of Regex: as written
  pcre2_real_code_8 *code = nullptr; ///< of Regex
  bool (*contains)(Char) = nullptr;  ///< of Set: single characters
  Char character = 0;                ///< of Set without `contains`: this one
};

/// Compiles a regular expression as Oniguruma's Ruby syntax has it, where pcre2 means the same.
/// R0703 with `place` where it does not compile.
attn_status compileRegex(Slice expression, const char *place, Pattern &pattern, Error &error);

/// Frees what `compileRegex` made.
void freeRegex(Pattern &pattern);

/// Searches one text for the matches of a pattern, from front to back.
class Matcher {
public:
  Matcher(const Pattern &pattern, Slice text);
  Matcher(const Matcher &) = delete;
  Matcher &operator=(const Matcher &) = delete;
  ~Matcher();
  /// The next match, from `begin` to before `end`; false behind the last, or after a failure.
  bool next(size_t &begin, size_t &end);
  /// Whether memory, or the limit of steps of an expression, was lacking.
  bool hasFailed() const { return isFailed; }

private:
  /// `next` by pcre2.
  bool nextRegex(size_t &begin, size_t &end);

  const Pattern &pattern;
  Slice text;
  size_t at = 0;
  void *data = nullptr; ///< pcre2_match_data
  bool isFailed = false;
};

} // namespace attn
