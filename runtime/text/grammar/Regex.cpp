// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The reader of regular expressions: a recursive descent that makes expressions as it goes.
#include "text/grammar/Regex.h"
#include "base/Utf8.h"
#include "text/grammar/FrontEnds.h"
#include "text/grammar/JsonParts.h"
#include "text/steps/Unicode.h"

using namespace attn;
using namespace attn::grammar;

/// Groups within each other, and a count of a repetition, at most.
static constexpr int maxDepth = 200;
static constexpr uint64_t maxCount = 1000000;

namespace {

/// What an alternative is, and whether it is bound to the beginning and the end of the text.
struct Part {
  Id id;
  bool isBegun, isEnded;
};

/// Reads one expression.
class RegexReader {
public:
  RegexReader(Expressions &to, Slice text, const RegexOptions &options, RegexProblem &problem)
      : to(to), text(text), options(options), problem(problem) {}
  Id readAll();

private:
  /// Alternatives up to a bracket or the end. Only those of the whole expression, `isWhole`, may
  /// have anchors: what is searched for stands between any characters where they are not bound.
  Id readChoice(bool isWhole);
  Id readAlternative(bool isWhole);
  /// Whether all of what is left is one group with alternatives of the whole expression.
  bool isOneGroup() const;
  Id readAtom();
  Id readGroup();
  Id readQuantified(Id part);
  Id readSet();
  Id readEscape();
  bool readCount(uint64_t &count);
  /// A character in a set or behind a backslash; a class adds its ranges, and `isClass` is true.
  bool readCharacter(bool isInSet, Vector<CharacterRange> &ranges, uint32_t &character,
                     bool &isClass);
  bool readPlain(uint32_t &character);
  bool readEscaped(bool isInSet, Vector<CharacterRange> &ranges, uint32_t &character,
                   bool &isClass);
  bool readHex(size_t digits, uint32_t &value);
  bool readCodePoint(uint32_t &value);
  bool readProperty(bool isNegated, Vector<CharacterRange> &ranges);
  Id characters(Vector<CharacterRange> &ranges);
  Id anything();

  bool atEnd() const { return position >= text.size; }
  char peek(size_t ahead = 0) const {
    return position + ahead < text.size ? text.data[position + ahead] : char(0);
  }
  bool take(const char *what) {
    bool is = text.from(position).startsWith(Slice(what));
    position += is ? strlen(what) : 0;
    return is;
  }
  bool fail(const char *what) {
    if (!problem.what) {
      problem.what = what;
      problem.position = position;
    }
    return false;
  }
  void skipBlanks();

  Expressions &to;
  Slice text;
  const RegexOptions &options;
  RegexProblem &problem;
  size_t position = 0;
  int depth = 0;
};

} // namespace

Id RegexReader::characters(Vector<CharacterRange> &ranges) {
  if (options.ignoresCase) {
    size_t count = ranges.size();
    for (size_t i = 0; i < count; ++i)
      for (unsigned letter = 'a'; letter <= 'z'; ++letter) {
        auto has = [&](unsigned c) { return ranges[i].first <= c && c <= ranges[i].last; };
        unsigned upper = letter - 'a' + 'A';
        if ((has(letter) && !ranges.push({upper, upper})) ||
            (has(upper) && !ranges.push({letter, letter})))
          return to.never();
      }
  }
  sortRanges(ranges);
  return options.json ? options.json->plainCharacters(ranges) : to.characters(ranges);
}

Id RegexReader::anything() {
  Vector<CharacterRange> all;
  if (!all.push({0, lastCharacter}))
    return to.never();
  return to.repeat(options.json ? options.json->plainCharacters(all) : to.characters(all), 0,
                   endless);
}

void RegexReader::skipBlanks() {
  while (options.isVerbose && !atEnd()) {
    if (peek() == '#')
      while (!atEnd() && peek() != '\n')
        ++position;
    else if (isOneOf(peek(), " \t\r\n\f\v"))
      ++position;
    else
      return;
  }
}

Id RegexReader::readAll() {
  Id all = readChoice(true);
  if (!atEnd())
    fail("`)` closes nothing");
  return problem.what ? to.never() : all;
}

Id RegexReader::readChoice(bool isWhole) {
  Vector<Id> parts;
  do {
    if (!parts.push(readAlternative(isWhole)))
      return to.never();
  } while (!problem.what && take("|"));
  return to.choice(parts.data(), parts.size());
}

bool RegexReader::isOneGroup() const {
  if (peek() != '(')
    return false;
  size_t open = 0;
  for (size_t i = position; i < text.size; ++i) {
    char c = text.data[i];
    if (c == '\\')
      ++i;
    else if (c == '[')
      for (++i; i < text.size && text.data[i] != ']'; ++i)
        i += text.data[i] == '\\';
    else if (c == '(')
      ++open;
    else if (c == ')' && --open == 0)
      return i + 1 == text.size;
  }
  return false;
}

Id RegexReader::readAlternative(bool isWhole) {
  Vector<Id> parts;
  bool isBegun = !options.isSearched, isEnded = !options.isSearched;
  skipBlanks();
  if (isWhole && isOneGroup())
    return readGroup();
  while (isWhole && take("^"))
    isBegun = true;
  for (skipBlanks(); !problem.what && !atEnd() && peek() != '|' && peek() != ')'; skipBlanks()) {
    if (isWhole && take("$")) {
      isEnded = true;
      if (!atEnd() && peek() != '|' && peek() != '$' && peek() != ')')
        fail("`$` is read at the end of an expression, or of one of its alternatives, alone");
      continue;
    }
    if (!parts.push(readQuantified(readAtom())))
      return to.never();
  }
  Id self = to.sequence(parts.data(), parts.size());
  if (!isWhole)
    return self;
  return to.sequence({isBegun ? to.empty() : anything(), self, isEnded ? to.empty() : anything()});
}

Id RegexReader::readGroup() {
  bool isWhole = isOneGroup() && depth == 0 && position == 0;
  ++position;
  if (take("?")) {
    if (take("=") || take("!") || take("<=") || take("<!")) {
      fail("an expression that looks ahead or behind is not read");
      return to.never();
    }
    if (take("P<") || take("<")) {
      while (!atEnd() && peek() != '>')
        ++position;
      ++position;
    } else if (!take(":")) {
      fail("expected `(?:`, or a group with a name, `(?<name>`");
      return to.never();
    }
  }
  if (++depth > maxDepth) {
    fail("groups are nested too deeply");
    return to.never();
  }
  Id self = readChoice(isWhole);
  --depth;
  if (!problem.what && !take(")"))
    fail("a group has no end");
  return self;
}

bool RegexReader::readCount(uint64_t &count) {
  size_t begin = position;
  count = 0;
  for (; !atEnd() && peek() >= '0' && peek() <= '9'; ++position) {
    count = 10 * count + uint64_t(peek() - '0');
    if (count > maxCount)
      return fail("a repetition is counted to 1000000 at most");
  }
  return position > begin;
}

Id RegexReader::readQuantified(Id part) {
  skipBlanks();
  uint64_t least = 1, most = 1;
  size_t begin = position;
  bool isQuantified = true;
  if (take("*"))
    least = 0, most = endless;
  else if (take("+"))
    most = endless;
  else if (take("?"))
    least = 0;
  else if (take("{")) {
    bool hasLeast = readCount(least);
    most = least;
    if (take(",") && !readCount(most))
      most = endless;
    if (!problem.what && (!hasLeast || !take("}"))) {
      position = begin;
      fail("expected a repetition, `{2}`, `{2,}` or `{2,5}`; the character is `\\{`");
    }
    if (!problem.what && least > most)
      fail("a repetition whose least count is above its most");
  } else {
    isQuantified = false;
  }
  if (isQuantified && !problem.what) {
    take("?"); // the shortest match first: the same texts
    skipBlanks();
    if (!atEnd() && isOneOf(peek(), "*+?{"))
      fail("a repetition of a repetition needs brackets");
  }
  return problem.what ? to.never() : to.repeat(part, uint32_t(least), uint32_t(most));
}

Id RegexReader::readAtom() {
  Vector<CharacterRange> ranges;
  uint32_t character = 0;
  bool isClass = false;
  switch (peek()) {
  case '(':
    return readGroup();
  case '[':
    return readSet();
  case '.':
    ++position;
    // All but the ends of lines.
    if (!options.dotIsAll && (!ranges.push({'\n', '\n'}) || !ranges.push({'\r', '\r'}) ||
                              !ranges.push({0x2028, 0x2029})))
      return to.never();
    return invertRanges(ranges) ? characters(ranges) : to.never();
  case '*':
  case '+':
  case '?':
    fail("a repetition of nothing");
    return to.never();
  case '{':
  case '}':
  case ']':
    fail("this character needs a backslash in front of it");
    return to.never();
  case '^':
  case '$':
    fail("`^` and `$` are read at the beginning and the end of an expression, or of one of its "
         "alternatives, alone");
    return to.never();
  default:
    break;
  }
  if (!readCharacter(false, ranges, character, isClass) ||
      (!isClass && !ranges.push({character, character})))
    return to.never();
  return characters(ranges);
}

Id RegexReader::readSet() {
  size_t begin = position++;
  bool isNegated = take("^");
  Vector<CharacterRange> ranges;
  while (!problem.what && peek() != ']') {
    if (atEnd()) {
      position = begin;
      fail("a set of characters has no end");
      break;
    }
    uint32_t first = 0, last = 0;
    bool isClass = false, isOtherClass = false;
    if (!readCharacter(true, ranges, first, isClass))
      break;
    last = first;
    if (peek() == '-' && peek(1) != ']' && position + 1 < text.size) {
      ++position;
      size_t place = position;
      if (!readCharacter(true, ranges, last, isOtherClass))
        break;
      if (isClass || isOtherClass || first > last) {
        position = place;
        fail(first > last && !isClass && !isOtherClass ? "a range of characters from above to below"
                                                       : "a class of characters ends no range");
        break;
      }
    }
    if (!isClass && !ranges.push({first, last}))
      return to.never();
  }
  ++position;
  sortRanges(ranges);
  // Both cases of what is left out are left out.
  if (isNegated && options.ignoresCase)
    for (unsigned letter = 'a'; letter <= 'z'; ++letter)
      for (size_t i = 0, count = ranges.size(); i < count; ++i) {
        auto has = [&](unsigned c) { return ranges[i].first <= c && c <= ranges[i].last; };
        unsigned upper = letter - 'a' + 'A';
        if ((has(letter) && !ranges.push({upper, upper})) ||
            (has(upper) && !ranges.push({letter, letter})))
          return to.never();
      }
  sortRanges(ranges);
  if (isNegated && !invertRanges(ranges))
    return to.never();
  return problem.what ? to.never() : characters(ranges);
}

bool RegexReader::readCharacter(bool isInSet, Vector<CharacterRange> &ranges, uint32_t &character,
                                bool &isClass) {
  if (peek() == '\\')
    return readEscaped(isInSet, ranges, character, isClass);
  return readPlain(character);
}

bool RegexReader::readPlain(uint32_t &character) {
  size_t length = utf8Length(text.data + position, text.size - position);
  if (!length)
    return fail("not UTF-8");
  character = decodeUtf8(text.data + position, length);
  position += length;
  return true;
}

bool RegexReader::readHex(size_t digits, uint32_t &value) {
  value = 0;
  for (size_t i = 0; i < digits; ++i, ++position) {
    char c = peek();
    int digit = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                       : -1;
    if (digit < 0)
      return fail("expected hexadecimal digits");
    value = 16 * value + uint32_t(digit);
  }
  return true;
}

bool RegexReader::readCodePoint(uint32_t &value) {
  if (take("{")) {
    size_t digits = 0;
    while (peek(digits) && peek(digits) != '}' && digits < 8)
      ++digits;
    if (!readHex(digits, value) || !take("}"))
      return fail("expected `\\u{1F600}`");
  } else {
    uint32_t low = 0;
    if (!readHex(4, value))
      return false;
    if (value >= 0xd800 && value < 0xdc00 && take("\\u") && readHex(4, low) && low >= 0xdc00 &&
        low < 0xe000)
      value = 0x10000 + ((value - 0xd800) << 10) + (low - 0xdc00);
  }
  if (value > lastCharacter || (value >= 0xd800 && value < 0xe000))
    return fail("this is no character");
  return true;
}

bool RegexReader::readProperty(bool isNegated, Vector<CharacterRange> &ranges) {
  size_t begin = position;
  bool isGood = take("{");
  Slice name = text.from(position);
  while (isGood && !atEnd() && peek() != '}')
    ++position;
  name.size = size_t(text.data + position - name.data);
  for (const char *prefix : {"gc=", "General_Category="})
    if (name.startsWith(Slice(prefix)))
      name = name.from(strlen(prefix));
  // The long names of the categories that are asked for most.
  static const char *const names[][2] = {{"Letter", "L"},
                                         {"Lowercase_Letter", "Ll"},
                                         {"Uppercase_Letter", "Lu"},
                                         {"Number", "N"},
                                         {"Punctuation", "P"},
                                         {"Symbol", "S"},
                                         {"Separator", "Z"},
                                         {"Mark", "M"}};
  for (const auto &row : names)
    if (name.is(row[0]))
      name = Slice(row[1]);
  Vector<CharacterRange> found;
  if (!isGood || !take("}") || !addCategory(name, found)) {
    position = begin;
    return fail("expected a general category, as `\\p{L}` or `\\p{Lu}`; other properties are not "
                "read");
  }
  return (!isNegated || invertRanges(found)) && ranges.append(found.data(), found.size());
}

bool RegexReader::readEscaped(bool isInSet, Vector<CharacterRange> &ranges, uint32_t &character,
                              bool &isClass) {
  size_t begin = position++;
  static const char letters[] = "nrtfv", codes[] = "\n\r\t\f\v";
  char c = peek();
  if (const char *letter = c ? strchr(letters, c) : nullptr) {
    ++position;
    character = static_cast<unsigned char>(codes[letter - letters]);
    return true;
  }
  if (c && strchr("dDwWsS", c)) {
    ++position;
    isClass = true;
    return addClass(static_cast<unsigned char>(c), ranges);
  }
  if (take("p") || take("P")) {
    isClass = true;
    return readProperty(c == 'P', ranges);
  }
  if (take("x"))
    return readHex(2, character);
  if (take("u"))
    return readCodePoint(character);
  if (c == '0' && !(peek(1) >= '0' && peek(1) <= '9')) {
    ++position;
    character = 0;
    return true;
  }
  if (isInSet && c == 'b') {
    ++position;
    character = '\b';
    return true;
  }
  bool isLetter = (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
  if (isLetter || position >= text.size) {
    position = begin;
    return fail(c == 'b' || c == 'B'       ? "the edge of a word is not read"
                : c >= '1' && c <= '9'     ? "a reference to a group is not read"
                : position + 1 < text.size ? "this escape is not known"
                                           : "a backslash in front of nothing");
  }
  return readPlain(character);
}

Id grammar::compileRegex(Expressions &to, Slice expression, const RegexOptions &options,
                         RegexProblem &problem) {
  return RegexReader(to, expression, options, problem).readAll();
}

attn_status grammar::readRegex(Slice text, Expressions &to, uint32_t &start, Error &error) {
  RegexProblem problem;
  start = to.addRule(Slice("expression"));
  to.define(start, compileRegex(to, text, RegexOptions(), problem));
  if (problem.what)
    return error.set(ATTN_BAD_INPUT, "R0712", "the regular expression, byte %zu: %s",
                     problem.position + 1, problem.what);
  return ATTN_OK;
}
