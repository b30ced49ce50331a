// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Grammars in GBNF, the form of llama.cpp (grammars/README.md there).
#include "text/grammar/FrontEnds.h"
#include "text/grammar/GrammarText.h"

using namespace attn;
using namespace attn::grammar;

namespace {

/// Reads one grammar.
class GbnfReader : GrammarText {
public:
  GbnfReader(Slice text, Expressions &to, Error &error) : GrammarText("GBNF", text, to, error) {}
  bool read(uint32_t &start);

private:
  bool readRule();
  /// Alternatives up to a bracket, or, outside of brackets, the line's end.
  Id readChoice(bool isNested);
  Id readSequence(bool isNested);
  Id readItem();
  Id readSet();
  /// A repetition of what has just been read.
  Id readRepeated(Id part);
};

} // namespace

bool GbnfReader::read(uint32_t &start) {
  for (skip("#", true); isGood() && !atEnd(); skip("#", true))
    if (!readRule())
      return false;
  return isGood() && finishRules("root", start);
}

bool GbnfReader::readRule() {
  Slice name = readName(true);
  uint32_t rule = 0;
  if (!name.size)
    return fail("expected the name of a rule");
  if (!beginRule(name, rule))
    return false;
  skip("#", false);
  if (!take("::="))
    return fail("expected `::=` behind the name of a rule");
  skip("#", true);
  to.define(rule, readChoice(false));
  skip("#", false);
  if (isGood() && !atEnd() && peek() != '\n' && peek() != '\r')
    return fail(peek() == ')' ? "`)` closes nothing" : "expected the end of the line");
  return isGood();
}

Id GbnfReader::readChoice(bool isNested) {
  Vector<Id> parts;
  for (;;) {
    if (!parts.push(readSequence(isNested)))
      return to.never();
    // A line may begin with `|`.
    size_t before = position;
    skip("#", true);
    if (!isGood() || !take("|")) {
      position = isNested ? position : before;
      break;
    }
    skip("#", true);
  }
  return to.choice(parts.data(), parts.size());
}

Id GbnfReader::readSequence(bool isNested) {
  Vector<Id> parts;
  for (;;) {
    skip("#", isNested);
    char c = peek();
    if (!isGood() || atEnd() || c == '|' || c == ')' || c == '\n' || c == '\r')
      break;
    if (!parts.push(readRepeated(readItem())))
      return to.never();
  }
  return to.sequence(parts.data(), parts.size());
}

Id GbnfReader::readItem() {
  Vector<char> bytes;
  if (take("\""))
    return readString(bytes) ? to.literal(Slice(bytes)) : to.never();
  if (peek() == '[')
    return readSet();
  if (take(".")) {
    Vector<CharacterRange> all;
    return all.push({0, lastCharacter}) ? to.characters(all) : to.never();
  }
  if (take("(")) {
    if (++depth > maxDepth)
      return failed("brackets are nested too deeply");
    Id inner = readChoice(true);
    --depth;
    if (isGood() && !take(")"))
      return failed("expected `)`");
    return inner;
  }
  if (looksAt("<") || looksAt("!<"))
    return failed("tokens by their names or numbers are not read");
  Slice name = readName(true);
  uint32_t rule = 0;
  if (!name.size)
    return failed("expected a string, a set of characters, a rule or a bracket");
  return ruleOf(name, rule) ? to.rule(rule) : to.never();
}

Id GbnfReader::readSet() {
  size_t begin = position++;
  bool isNegated = take("^");
  Vector<CharacterRange> ranges;
  while (!take("]")) {
    uint32_t first = 0, last = 0;
    if (atEnd() || peek() == '\n') {
      failAt(begin, "a set of characters has no end");
      return to.never();
    }
    if (!readCharacter(first))
      return to.never();
    last = first;
    if (peek() == '-' && peek(1) != ']') {
      ++position;
      if (!readCharacter(last))
        return to.never();
    }
    if (first > last)
      return failed("a range of characters from above to below");
    if (!ranges.push({first, last}))
      return to.never();
  }
  sortRanges(ranges);
  return isNegated && !invertRanges(ranges) ? to.never() : to.characters(ranges);
}

Id GbnfReader::readRepeated(Id part) {
  for (;;) {
    uint32_t least = 0, most = 0;
    size_t behind = position;
    skip("#", false);
    if (atEnd() || !isOneOf(peek(), "*+?{"))
      position = behind;
    if (take("*"))
      part = to.repeat(part, 0, endless);
    else if (take("+"))
      part = to.repeat(part, 1, endless);
    else if (take("?"))
      part = to.optional(part);
    else if (take("{"))
      part = readCounts(least, most) ? to.repeat(part, least, most) : to.never();
    else
      return part;
    if (!isGood())
      return to.never();
  }
}

attn_status grammar::readGbnf(Slice text, Expressions &to, uint32_t &start, Error &error) {
  GbnfReader(text, to, error).read(start);
  return error.status;
}
