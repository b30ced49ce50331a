// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Grammars in Lark's form (lark-parser.readthedocs.io, Grammar Reference), as far as llguidance
// reads them. Terminals end wherever they match; what is ignored may stand in front of each.
#include "base/Utf8.h"
#include "text/grammar/FrontEnds.h"
#include "text/grammar/GrammarText.h"
#include "text/grammar/Regex.h"
#include "text/steps/Unicode.h"

using namespace attn;
using namespace attn::grammar;

/// Terminals that can be imported from `common`: their expressions.
static const char *const common[][2] = {
    {"DIGIT", "[0-9]"},
    {"HEXDIGIT", "[0-9A-Fa-f]"},
    {"INT", "[0-9]+"},
    {"SIGNED_INT", "[+-]?[0-9]+"},
    {"DECIMAL", "[0-9]+\\.[0-9]*|\\.[0-9]+"},
    {"FLOAT", "[0-9]+[Ee][+-]?[0-9]+|([0-9]+\\.[0-9]*|\\.[0-9]+)([Ee][+-]?[0-9]+)?"},
    {"SIGNED_FLOAT", "[+-]?([0-9]+[Ee][+-]?[0-9]+|([0-9]+\\.[0-9]*|\\.[0-9]+)([Ee][+-]?[0-9]+)?)"},
    {"NUMBER", "[0-9]+([Ee][+-]?[0-9]+)?|([0-9]+\\.[0-9]*|\\.[0-9]+)([Ee][+-]?[0-9]+)?"},
    {"SIGNED_NUMBER",
     "[+-]?([0-9]+([Ee][+-]?[0-9]+)?|([0-9]+\\.[0-9]*|\\.[0-9]+)([Ee][+-]?[0-9]+)?)"},
    {"ESCAPED_STRING", "\"([^\"\\\\\\n]|\\\\[^\\n])*\""},
    {"LCASE_LETTER", "[a-z]"},
    {"UCASE_LETTER", "[A-Z]"},
    {"LETTER", "[A-Za-z]"},
    {"WORD", "[A-Za-z]+"},
    {"CNAME", "[A-Za-z_][A-Za-z_0-9]*"},
    {"WS_INLINE", "[ \\t]+"},
    {"WS", "[ \\t\\f\\r\\n]+"},
    {"CR", "\\r"},
    {"LF", "\\n"},
    {"NEWLINE", "(\\r?\\n)+"},
    {"SH_COMMENT", "#[^\\n]*"},
    {"CPP_COMMENT", "//[^\\n]*"},
    {"C_COMMENT", "/\\*([^*]|\\*+[^*/])*\\*+/"},
    {"SQL_COMMENT", "--[^\\n]*"},
};

namespace {

/// Reads one grammar.
class LarkReader : GrammarText {
public:
  LarkReader(Slice text, Expressions &to, Error &error) : GrammarText("Lark", text, to, error) {}
  bool read(uint32_t &start);

private:
  bool readStatement();
  bool readDirective();
  bool readImport();
  bool import(Slice name, Slice as, size_t place);
  Id readChoice(bool isNested);
  Id readSequence(bool isNested);
  Id readRepeated(Id part);
  Id readItem();
  Id readText();
  Id readRegex();
  /// A terminal among rules, with what is ignored in front of it.
  Id lexeme(Id terminal) {
    return isTerminal ? terminal : to.sequence(to.rule(ignoredRule), terminal);
  }
  /// Passes over white space and comments, and over lines' ends within brackets and in front of
  /// `|`.
  void skipBlanks(bool isNested);
  bool isUpper(Slice name) const {
    for (size_t i = 0; i < name.size; ++i)
      if (name.data[i] != '_')
        return name.data[i] >= 'A' && name.data[i] <= 'Z';
    return false;
  }

  uint32_t ignoredRule = 0;
  Vector<Id> ignored;
  bool isTerminal = false; ///< whether a terminal is being defined
};

} // namespace

void LarkReader::skipBlanks(bool isNested) {
  for (;;) {
    skip("//", isNested);
    if (peek() == '#' && (position == 0 || text.data[position - 1] == '\n'))
      while (!atEnd() && peek() != '\n')
        ++position;
    else
      return;
  }
}

/// The character that a text is, where it is one.
static bool oneCharacter(Slice text, uint32_t &character) {
  size_t length = utf8Length(text.data, text.size);
  if (!length || length != text.size)
    return false;
  character = decodeUtf8(text.data, length);
  return true;
}

bool LarkReader::read(uint32_t &start) {
  uint32_t whole = to.addRule(Slice("the whole text"));
  ignoredRule = to.addRule(Slice("what is ignored"));
  for (skipBlanks(true); isGood() && !atEnd(); skipBlanks(true))
    if (!readStatement())
      return false;
  uint32_t first = 0;
  if (!isGood() || !finishRules("start", first))
    return false;
  to.define(ignoredRule, to.repeat(to.choice(ignored.data(), ignored.size()), 0, endless));
  to.define(whole, to.sequence(to.rule(first), to.rule(ignoredRule)));
  start = whole;
  return true;
}

bool LarkReader::readStatement() {
  if (peek() == '%')
    return readDirective();
  while (take("?") || take("!"))
    ;
  Slice name = readName(false);
  uint32_t rule = 0;
  if (!name.size)
    return fail("expected a rule, a terminal or a directive");
  if (!beginRule(name, rule))
    return false;
  isTerminal = isUpper(name);
  if (peek() == '{' || peek() == '[')
    return fail("templates and attributes of rules are not read");
  if (take(".")) {
    uint32_t priority = 0;
    take("-");
    if (!readNumber(priority))
      return false; // which of several readings is taken makes no other texts
  }
  skipBlanks(false);
  if (!take(":"))
    return fail("expected `:` behind a name");
  to.define(rule, readChoice(false));
  skipBlanks(false);
  if (isGood() && !atEnd() && peek() != '\n' && peek() != '\r')
    return fail("expected the end of the line");
  return isGood();
}

bool LarkReader::import(Slice name, Slice as, size_t place) {
  for (const auto &row : common)
    if (name.is(row[0])) {
      uint32_t rule = 0;
      RegexProblem problem;
      if (!beginRule(as, rule))
        return false;
      to.define(rule, compileRegex(to, Slice(row[1]), RegexOptions(), problem));
      return true;
    }
  return failAt(place, "this terminal of `common` is not known: ", name);
}

bool LarkReader::readImport() {
  skipBlanks(false);
  if (!take("common"))
    return fail("only terminals of `common` can be imported");
  bool isOne = take(".");
  skipBlanks(false);
  if (!isOne && !take("("))
    return fail("expected `common.NAME` or `common (NAME, ...)`");
  do {
    skipBlanks(false);
    size_t place = position;
    Slice name = readName(false), as = name;
    skipBlanks(false);
    if (isOne && take("->")) {
      skipBlanks(false);
      as = readName(false);
    }
    if (!import(name, as, place))
      return false;
    skipBlanks(false);
  } while (!isOne && take(","));
  return isOne || take(")") || fail("expected `)`");
}

bool LarkReader::readDirective() {
  size_t place = position++;
  Slice name = readName(false);
  if (name.is("import"))
    return readImport();
  if (name.is("ignore")) {
    skipBlanks(false);
    isTerminal = true;
    Id part = readChoice(false);
    return isGood() && (ignored.push(part) || error.outOfMemory("a grammar") == ATTN_OK);
  }
  // What llguidance's grammars begin with.
  if (name.is("llguidance")) {
    skipBlanks(false);
    return take("{}") || fail("options of `%llguidance` are not read: expected `{}`");
  }
  return failAt(place,
                "expected `%import`, `%ignore` or `%llguidance {}`, which are the directives "
                "that are read, but got ",
                text.between(place, position));
}

Id LarkReader::readChoice(bool isNested) {
  Vector<Id> parts;
  skipBlanks(isNested);
  size_t begin = position;
  skipBlanks(true);
  if (!take("|"))
    position = begin;
  for (;;) {
    if (!parts.push(readSequence(isNested)))
      return to.never();
    // A line may begin with `|`.
    size_t before = position;
    skipBlanks(true);
    if (!isGood() || !take("|")) {
      position = isNested ? position : before;
      break;
    }
  }
  return to.choice(parts.data(), parts.size());
}

Id LarkReader::readSequence(bool isNested) {
  Vector<Id> parts;
  for (;;) {
    skipBlanks(isNested);
    char c = peek();
    if (!isGood() || atEnd() || isOneOf(c, "|)]\n\r"))
      break;
    // The name of an alternative's tree says nothing of its text.
    if (take("->")) {
      skipBlanks(false);
      if (!readName(false).size)
        return failed("expected a name behind `->`");
      continue;
    }
    if (!parts.push(readRepeated(readItem())))
      return to.never();
  }
  return to.sequence(parts.data(), parts.size());
}

Id LarkReader::readRepeated(Id part) {
  uint32_t least = 0, most = 0;
  if (take("*"))
    return to.repeat(part, 0, endless);
  if (take("+"))
    return to.repeat(part, 1, endless);
  if (take("?"))
    return to.optional(part);
  if (take("{"))
    return readCounts(least, most) ? to.repeat(part, least, most) : to.never();
  size_t behind = position;
  skipBlanks(false);
  if (!take("~")) {
    position = behind;
    return part;
  }
  skipBlanks(false);
  if (!readNumber(least))
    return to.never();
  most = least;
  if (take("..") && !readNumber(most))
    return to.never();
  if (least > most)
    return failed("a repetition whose least count is above its most");
  return to.repeat(part, least, most);
}

Id LarkReader::readText() {
  Vector<char> bytes, last;
  if (!readString(bytes))
    return to.never();
  if (take("..")) {
    // "a".."z"
    Vector<CharacterRange> range;
    uint32_t from = 0, until = 0;
    size_t begin = position;
    if (!take("\""))
      return failed("expected a character, as in `\"a\"..\"z\"`");
    if (!readString(last))
      return to.never();
    if (!oneCharacter(Slice(bytes), from) || !oneCharacter(Slice(last), until) || from > until) {
      failAt(begin, "a range goes from one character to another above it");
      return to.never();
    }
    return range.push({from, until}) ? lexeme(to.characters(range)) : to.never();
  }
  if (!take("i"))
    return lexeme(to.literal(Slice(bytes)));
  Vector<Id> parts;
  for (size_t i = 0; i < bytes.size(); ++i) {
    auto c = static_cast<unsigned char>(bytes[i]);
    bool isLetter = (c | 0x20) >= 'a' && (c | 0x20) <= 'z';
    if (c & 0x80)
      return failed("both cases are known of ASCII's letters alone");
    if (!parts.push(isLetter ? to.choice({to.byte(c), to.byte(c ^ 0x20)}) : to.byte(c)))
      return to.never();
  }
  return lexeme(to.sequence(parts.data(), parts.size()));
}

Id LarkReader::readRegex() {
  size_t begin = ++position;
  bool isInSet = false;
  for (; !atEnd() && peek() != '\n' && (isInSet || peek() != '/'); ++position) {
    if (peek() == '\\')
      ++position;
    else if (peek() == '[')
      isInSet = true;
    else if (peek() == ']')
      isInSet = false;
  }
  if (peek() != '/') {
    failAt(begin, "an expression has no end");
    return to.never();
  }
  Slice expression = text.between(begin, position++);
  RegexOptions options;
  for (bool isFlag = true; isFlag;) {
    isFlag = true;
    if (take("i"))
      options.ignoresCase = true;
    else if (take("s"))
      options.dotIsAll = true;
    else if (take("x"))
      options.isVerbose = true;
    else if (!take("u"))
      isFlag = false;
  }
  if ((peek() >= 'a' && peek() <= 'z'))
    return failed("flags of expressions are `i`, `s`, `x` and `u`");
  RegexProblem problem;
  Id made = compileRegex(to, expression, options, problem);
  if (problem.what) {
    failAt(begin + problem.position, problem.what);
    return to.never();
  }
  return lexeme(made);
}

Id LarkReader::readItem() {
  char c = peek();
  if (take("\""))
    return readText();
  if (c == '/')
    return readRegex();
  if (c == '(' || c == '[') {
    ++position;
    if (++depth > maxDepth)
      return failed("brackets are nested too deeply");
    Id inner = readChoice(true);
    --depth;
    if (isGood() && !take(c == '(' ? ")" : "]"))
      return failed(c == '(' ? "expected `)`" : "expected `]`");
    return c == '(' ? inner : to.optional(inner);
  }
  if (c == '<' || c == '@' || c == '%')
    return failed("tokens by their names, other grammars and directives within rules are not read");
  Slice name = readName(false);
  uint32_t rule = 0;
  if (!name.size)
    return failed("expected a string, an expression, a rule, a terminal or a bracket");
  if (peek() == '{' && !(peek(1) >= '0' && peek(1) <= '9') && peek(1) != ',')
    return failed("templates are not read");
  if (!ruleOf(name, rule))
    return to.never();
  if (isUpper(name))
    return lexeme(to.rule(rule));
  return isTerminal ? failed("a terminal has no rules in it") : to.rule(rule);
}

attn_status grammar::readLark(Slice text, Expressions &to, uint32_t &start, Error &error) {
  LarkReader(text, to, error).read(start);
  return error.status;
}
