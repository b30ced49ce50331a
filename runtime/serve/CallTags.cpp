// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Arguments to JSON: of what type a value is, the tool's schema says, or else the value.
#include "serve/CallTags.h"

#include "base/Json.h"

namespace attn {
namespace {

/// Nesting of values between marks.
constexpr int deepest = 30;

/// Text that is read from front to back, and the arguments that it becomes.
class TaggedCall {
public:
  TaggedCall(const AnswerFormat &format, const ToolList &tools, Slice text, bool isEnd)
      : format(format), tools(tools), text(text), isEnd(isEnd) {}

  CallState readTags();
  CallState readPairs();
  CallState readWords();
  Slice name() const { return called; }
  Slice arguments() const { return Slice(json); }
  size_t size() const { return at; }

private:
  CallState open() const { return isEnd ? CallState::Broken : CallState::Open; }
  void skipSpace() {
    while (at < text.size && text.data[at] && strchr(" \t\r\n", text.data[at]))
      ++at;
  }
  /// Takes what comes before a mark, and the mark; false where there is none.
  bool takeUntil(const char *mark, Slice &taken);
  /// Whether a mark comes next, which is then taken.
  bool take(const char *mark);
  /// Whether what is left may become a mark.
  bool mayBecome(const char *mark) const {
    Slice wanted(mark), left = text.from(at);
    return left.size < wanted.size && wanted.startsWith(left);
  }
  /// Appends an argument.
  bool add(Slice key, Slice value);
  bool addKey(Slice key);
  /// One of Words: appends it as JSON.
  bool addWord(int depth);
  bool addWordList(char end, bool hasKeys, int depth);

  const AnswerFormat &format;
  const ToolList &tools;
  Slice text, called;
  bool isEnd;
  size_t at = 0;
  Vector<char> json;
};

bool TaggedCall::takeUntil(const char *mark, Slice &taken) {
  Slice left = text.from(at);
  size_t found = placeOf(left, mark);
  if (found == SIZE_MAX)
    return false;
  taken = left.between(0, found);
  at += taken.size + strlen(mark);
  return true;
}

bool TaggedCall::take(const char *mark) {
  bool isNext = text.from(at).startsWith(Slice(mark));
  at += isNext ? strlen(mark) : 0;
  return isNext;
}

bool TaggedCall::addKey(Slice key) {
  return (json.size() == 1 || append(json, Slice(", "))) && appendJsonString(key, json) &&
         append(json, Slice(": "));
}

bool TaggedCall::add(Slice key, Slice value) {
  if (!addKey(key))
    return false;
  JsonReader reader(value.data, value.size);
  bool isString =
      tools.isString(called, key) || reader.peek() == '"' || !reader.skipValue() || !reader.atEnd();
  // Python's words, which models of these formats write.
  static constexpr const char *words[][2] = {
      {"True", "true"}, {"False", "false"}, {"None", "null"}};
  for (const auto &word : words)
    if (value.is(word[0]) && !tools.isString(called, key))
      return append(json, Slice(word[1]));
  return isString ? appendJsonString(value, json) : append(json, value);
}

/// What stands between a tag and its value belongs to neither.
Slice withoutLines(Slice value) {
  if (value.startsWith(Slice("\n")))
    value = value.from(1);
  if (value.endsWith(Slice("\n")))
    --value.size;
  return value;
}

/// A name as a tag has it: with or without quotes.
Slice unquoted(Slice name) {
  bool isQuoted = name.size > 1 && (name.data[0] == '"' || name.data[0] == '\'') &&
                  name.data[name.size - 1] == name.data[0];
  return isQuoted ? name.between(1, name.size - 1) : name;
}

CallState TaggedCall::readTags() {
  if (!takeUntil(">", called))
    return open();
  called = unquoted(called);
  if (!isToolName(called) || !json.push('{'))
    return CallState::Broken;
  for (;;) {
    skipSpace();
    if (take(format.end))
      break;
    Slice key, value;
    if (!take(format.middle))
      return mayBecome(format.end) || mayBecome(format.middle) ? open() : CallState::Broken;
    if (!takeUntil(">", key))
      return open();
    // A tag that does not end does before the next one.
    size_t begin = at;
    if (!takeUntil("</parameter>", value)) {
      if (!isEnd)
        return CallState::Open;
      if (!takeUntil(format.end, value))
        return CallState::Broken;
      at = begin + value.size;
    }
    if (!add(unquoted(key), withoutLines(value)))
      return CallState::Broken;
  }
  return json.push('}') ? CallState::Whole : CallState::Broken;
}

CallState TaggedCall::readPairs() {
  static constexpr const char *keyBegin = "<arg_key>", *keyEnd = "</arg_key>",
                              *valueBegin = "<arg_value>", *valueEnd = "</arg_value>";
  skipSpace();
  size_t begin = at;
  while (at < text.size && text.data[at] != '<' && text.data[at] != '\n')
    ++at;
  called = text.between(begin, at);
  while (called.size &&
         (called.data[called.size - 1] == ' ' || called.data[called.size - 1] == '\r'))
    --called.size;
  if (at == text.size)
    return open();
  if (!isToolName(called) || !json.push('{'))
    return CallState::Broken;
  for (;;) {
    skipSpace();
    if (take(format.end))
      break;
    Slice key, value;
    if (!take(keyBegin))
      return mayBecome(keyBegin) || mayBecome(format.end) ? open() : CallState::Broken;
    if (!takeUntil(keyEnd, key))
      return open();
    skipSpace();
    if (!take(valueBegin))
      return mayBecome(valueBegin) ? open() : CallState::Broken;
    if (!takeUntil(valueEnd, value))
      return open();
    if (!add(key, value))
      return CallState::Broken;
  }
  return json.push('}') ? CallState::Whole : CallState::Broken;
}

bool TaggedCall::addWordList(char end, bool hasKeys, int depth) {
  char begin = end == '}' ? '{' : '[';
  if (depth > deepest || !json.push(begin))
    return false;
  ++at;
  for (bool isFirst = true;; isFirst = false) {
    skipSpace();
    if (at < text.size && text.data[at] == end)
      break;
    if (!isFirst && (!take(",") || !append(json, Slice(", "))))
      return false;
    if (hasKeys) {
      skipSpace();
      Slice key;
      if (take(format.middle) ? !takeUntil(format.middle, key) || !take(":") : !takeUntil(":", key))
        return false;
      if (key.size == 0 || memchr(key.data, '}', key.size) || !appendJsonString(key, json) ||
          !append(json, Slice(": ")))
        return false;
    }
    if (!addWord(depth + 1))
      return false;
  }
  ++at;
  return json.push(end);
}

bool TaggedCall::addWord(int depth) {
  skipSpace();
  Slice string;
  if (take(format.middle))
    return takeUntil(format.middle, string) && appendJsonString(string, json);
  if (at < text.size && (text.data[at] == '{' || text.data[at] == '['))
    return addWordList(text.data[at] == '{' ? '}' : ']', text.data[at] == '{', depth);
  // A number, a word of JSON, or a string of JSON.
  JsonReader reader(text.data + at, text.size - at);
  if (!reader.skipValue())
    return false;
  bool isAdded = append(json, text.between(at, at + reader.position));
  at += reader.position;
  return isAdded;
}

CallState TaggedCall::readWords() {
  // The first mark ends it, wherever it stands.
  size_t end = placeOf(text, format.end);
  if (end == SIZE_MAX && !isEnd)
    return CallState::Open;
  if (end != SIZE_MAX)
    text.size = end + strlen(format.end);
  skipSpace();
  if (!take("call:") || !takeUntil("{", called) || !isToolName(called))
    return CallState::Broken;
  --at;
  if (!addWordList('}', true, 0))
    return CallState::Broken;
  size_t after = at;
  skipSpace();
  if (!take(format.end))
    at = after;
  return CallState::Whole;
}

} // namespace

CallState readTaggedCall(const AnswerFormat &format, const ToolList &tools, Slice text, bool isEnd,
                         size_t &size, const CallSink &sink, bool &goesOn) {
  TaggedCall call(format, tools, text, isEnd);
  CallState state = format.body == CallBody::Tags    ? call.readTags()
                    : format.body == CallBody::Pairs ? call.readPairs()
                                                     : call.readWords();
  size = call.size();
  if (state == CallState::Whole && !isJsonObject(call.arguments()))
    return CallState::Broken; // a key twice is no error, what is no JSON is
  if (state == CallState::Whole)
    goesOn = goesOn && sink.take(sink.user, {call.name(), Slice(), call.arguments()});
  return state;
}

} // namespace attn
