// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What readers of grammars have in common: a place in the text, rules by their names.
#pragma once

#include "text/grammar/Expressions.h"
#include "text/steps/Vocabulary.h"

namespace attn::grammar {

/// Reads the text of a grammar from front to back. The first error sticks.
class GrammarText {
public:
  /// Brackets within each other, and a count of a repetition, at most.
  static constexpr int maxDepth = 200;
  static constexpr uint64_t maxCount = 1000000;

  GrammarText(const char *form, Slice text, Expressions &to, Error &error)
      : form(form), text(text), to(to), error(error) {}

protected:
  /// Whether nothing is left.
  bool atEnd() const { return position >= text.size; }
  /// A character that comes, 0 behind the end.
  char peek(size_t ahead = 0) const {
    return position + ahead < text.size ? text.data[position + ahead] : char(0);
  }
  /// Whether these characters come.
  bool looksAt(const char *what) const { return text.from(position).startsWith(Slice(what)); }
  /// Passes over them where they do.
  bool take(const char *what) {
    bool is = !atEnd() && looksAt(what);
    position += is ? strlen(what) : 0;
    return is;
  }
  /// Whether there has been no error.
  bool isGood() const { return error.status == ATTN_OK; }
  /// R0712 with line and column; returns false. `name`: what it is about, behind the message.
  bool fail(const char *what, Slice name = Slice());
  bool failAt(size_t place, const char *what, Slice name = Slice());
  /// Never, after a failure.
  Id failed(const char *what) {
    fail(what);
    return to.never();
  }
  /// Passes over white space, and comments that `comment` begins; line ends only where `hasLines`.
  void skip(const char *comment, bool hasLines);
  /// A name of letters, digits, `_` and, where `hasHyphens`, `-`; empty where there is none.
  Slice readName(bool hasHyphens);
  /// `{2}`, `{2,}`, `{2,5}` behind the bracket, or a number alone.
  bool readCounts(uint32_t &least, uint32_t &most);
  bool readNumber(uint32_t &number);
  /// A character of a string or a set, which may have a backslash in front.
  bool readCharacter(uint32_t &character);
  /// A string up to its quote, which has been passed at the beginning.
  bool readString(Vector<char> &bytes);

  /// The number of the rule of a name, which may be defined later.
  bool ruleOf(Slice name, uint32_t &rule);
  /// Says that a rule is defined here; an error where it has been before.
  bool beginRule(Slice name, uint32_t &rule);
  /// An error where a rule that is named is not defined; finds the one that texts follow.
  bool finishRules(const char *start, uint32_t &rule);

  const char *form;
  Slice text;
  Expressions &to;
  Error &error;
  size_t position = 0;
  int depth = 0;

private:
  /// A rule: where it is named first, and whether it is defined.
  struct Named {
    uint32_t rule;
    size_t place;
    bool isDefined;
  };
  Vocabulary names;
  Vector<Named> rules;
};

} // namespace attn::grammar
