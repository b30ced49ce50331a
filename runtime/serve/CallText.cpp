// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Calls as JSON, with or without the name in it, and the tools that there are.
#include "serve/CallText.h"

#include "base/Json.h"
#include "serve/CallTags.h"
#include <initializer_list>

namespace attn {

bool ToolList::read(Slice json) {
  return append(bytes, json) && tree.read(Slice(bytes)) && tree.root().isArray();
}

JsonValue ToolList::find(Slice name) const {
  if (bytes.empty())
    return JsonValue();
  for (JsonValue tool = tree.root().first(); tool.exists(); tool = tool.next())
    if (JsonValue function = tool.isObject() ? tool.find("function") : JsonValue();
        function.exists() && function.isObject() && function.find("name").exists() &&
        function.find("name").text() == name)
      return function;
  return JsonValue();
}

/// The member of an object, or none of something else.
static JsonValue memberOf(JsonValue value, Slice name) {
  if (!value.exists() || !value.isObject())
    return JsonValue();
  for (JsonValue member = value.first(); member.exists(); member = member.next())
    if (member.key() == name)
      return member;
  return JsonValue();
}

bool ToolList::isString(Slice name, Slice argument) const {
  JsonValue properties = memberOf(memberOf(find(name), Slice("parameters")), Slice("properties"));
  JsonValue type = memberOf(memberOf(properties, argument), Slice("type"));
  if (!type.exists())
    return false;
  if (!type.isArray())
    return type.isString() && type.text().is("string");
  for (JsonValue one = type.first(); one.exists(); one = one.next())
    if (one.isString() && one.text().is("string"))
      return true;
  return false;
}

size_t bracketedSize(Slice text) {
  size_t depth = 0;
  bool isQuoted = false;
  for (size_t i = 0; i < text.size; ++i) {
    char c = text.data[i];
    if (isQuoted) {
      i += c == '\\';
      isQuoted = c != '"';
    } else if (c == '"') {
      isQuoted = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if ((c == '}' || c == ']') && --depth == 0) {
      return i + 1;
    }
  }
  return 0;
}

/// Names are no longer than this.
static constexpr size_t longestName = 256;

bool isToolName(Slice text) {
  for (size_t i = 0; i < text.size; ++i)
    if (static_cast<unsigned char>(text.data[i]) <= ' ' || strchr("<>{}[]\"", text.data[i]))
      return false;
  return text.size > 0 && text.size <= longestName;
}

bool isJsonObject(Slice text) {
  JsonReader reader(text.data, text.size);
  return reader.peek() == '{' && reader.skipValue() && reader.atEnd();
}

namespace {

/// Text behind the mark of a call, up to where it has been read.
struct CallReading {
  const AnswerFormat &format;
  const ToolList &tools;
  Slice text;
  bool isEnd;
  const CallSink &sink;
  bool &goesOn;
  size_t at = 0;

  Slice rest() const { return text.from(at); }
  void skipSpace() {
    while (at < text.size && strchr(" \t\r\n", text.data[at]) && text.data[at])
      ++at;
  }
  /// What there is where more is needed.
  CallState open() const { return isEnd ? CallState::Broken : CallState::Open; }
  /// Takes a mark; Open where it may still come.
  CallState takeMark(const char *mark) {
    Slice wanted(mark), left = rest();
    if (left.startsWith(wanted))
      return at += wanted.size, CallState::Whole;
    return left.size < wanted.size && wanted.startsWith(left) ? open() : CallState::Broken;
  }
  bool hand(const ToolCall &call) { return goesOn = goesOn && sink.take(sink.user, call); }
};

/// The members of a call as JSON: places in `strings` and raw JSON.
struct JsonMembers {
  Vector<char> name, id;
  Slice arguments; ///< raw JSON; null data: there are none
};

/// Reads an object that may be a call; false where it is none.
bool readMembers(JsonReader &reader, const char *text, JsonMembers &members) {
  Vector<char> key;
  if (reader.peek() != '{' || !reader.enterObject())
    return false;
  while (reader.nextKey(key)) {
    Slice is(key);
    char first = reader.peek();
    size_t begin = reader.position;
    bool isName = is.is("name") || is.is("tool_name") || is.is("function");
    bool isId = is.is("id") || is.is("tool_call_id");
    bool isArguments = is.is("arguments") || is.is("parameters");
    if (isName && first == '"') {
      if (!reader.readString(members.name))
        return false;
    } else if (is.is("function") && first == '{') {
      if (!readMembers(reader, text, members))
        return false;
    } else if (isId && first == '"') {
      if (!reader.readString(members.id))
        return false;
    } else {
      if (!reader.skipValue())
        return false;
      if (isArguments)
        members.arguments = {text + begin, reader.position - begin};
    }
  }
  return reader.isGood();
}

/// Arguments as an object: they may be one in a string, and there may be none.
bool unwrapArguments(Slice &arguments, Vector<char> &bytes) {
  if (!arguments.data || arguments.is("null")) {
    arguments = Slice("{}");
    return true;
  }
  if (arguments.size && arguments.data[0] == '"') {
    JsonReader reader(arguments.data, arguments.size);
    bytes.clear();
    if (!reader.appendString(bytes))
      return false;
    arguments = bytes.empty() ? Slice("{}") : Slice(bytes);
  }
  return isJsonObject(arguments);
}

/// Reads one object, and hands its call over where `hands`; false where it is no call.
bool readJsonCall(JsonReader &reader, CallReading &reading, const char *text, bool hands) {
  JsonMembers members;
  Vector<char> unwrapped;
  if (!readMembers(reader, text, members) || !isToolName(Slice(members.name)))
    return false;
  Slice name(members.name), arguments = members.arguments;
  // What has no mark has to be meant: a JSON text with a name may be an answer.
  if (reading.format.isBare && (!arguments.data || !reading.tools.has(name)))
    return false;
  if (!unwrapArguments(arguments, unwrapped))
    return false;
  if (hands)
    reading.hand({name, members.id.empty() ? Slice() : Slice(members.id), arguments});
  return true;
}

/// An object, or a list of them.
CallState readJson(CallReading &reading) {
  reading.skipSpace();
  if (reading.at == reading.text.size)
    return reading.open();
  Slice left = reading.rest();
  if (left.data[0] != '{' && left.data[0] != '[')
    return CallState::Broken;
  size_t size = bracketedSize(left);
  if (size == 0)
    return reading.open();
  size_t after = reading.at + size;
  if (reading.format.end) {
    // The mark behind it may be missing, but not come later.
    CallReading behind{reading.format, reading.tools,  reading.text, reading.isEnd,
                       reading.sink,   reading.goesOn, after};
    behind.skipSpace();
    CallState state = behind.takeMark(reading.format.end);
    if (state == CallState::Open)
      return state;
    after = state == CallState::Whole ? behind.at : after;
  }
  // First whether all are calls.
  for (bool hands : {false, true}) {
    JsonReader reader(left.data, size);
    size_t count = 0;
    if (left.data[0] == '[') {
      reader.enterArray();
      for (; reader.nextElement(); ++count)
        if (!readJsonCall(reader, reading, left.data, hands))
          return CallState::Broken;
    } else if (readJsonCall(reader, reading, left.data, hands)) {
      ++count;
    }
    if (!reader.isGood() || count == 0)
      return CallState::Broken;
  }
  reading.at = after;
  return CallState::Whole;
}

/// Without white space at the ends.
Slice trimmed(Slice text) {
  while (text.size && strchr(" \t\r\n", text.data[0]))
    text = text.from(1);
  while (text.size && strchr(" \t\r\n", text.data[text.size - 1]))
    --text.size;
  return text;
}

/// "functions.weather:0" of Kimi is `weather`.
Slice bareName(Slice name) {
  if (!name.startsWith(Slice("functions.")))
    return name;
  name = name.from(strlen("functions."));
  size_t end = name.size;
  while (end > 0 && name.data[end - 1] >= '0' && name.data[end - 1] <= '9')
    --end;
  return end > 0 && end < name.size && name.data[end - 1] == ':' ? name.between(0, end - 1) : name;
}

/// A name, a mark, and arguments: Mistral's, Kimi's, DeepSeek's with a fence around the arguments.
CallState readNamed(CallReading &reading) {
  const char *middle = reading.format.middle;
  reading.skipSpace();
  Slice left = reading.rest();
  // The older form of Mistral's, a list behind the same mark.
  if (!reading.format.end && left.size && (left.data[0] == '[' || left.data[0] == '{') &&
      !left.startsWith(Slice("[CALL_ID]")))
    return readJson(reading);
  size_t found = placeOf(left, middle), brace = placeOf(left, "{");
  size_t place = found < brace ? found : brace;
  if (place > longestName)
    return left.size > longestName + strlen(middle) ? CallState::Broken : reading.open();
  Slice head = left.between(0, place), id, name = head;
  reading.at += head.size + (found < brace ? strlen(middle) : 0);
  if (size_t mark = placeOf(head, "[CALL_ID]"); mark != SIZE_MAX)
    name = head.between(0, mark), id = trimmed(head.from(mark + strlen("[CALL_ID]")));
  reading.skipSpace();
  left = reading.rest();
  if (left.size == 0)
    return reading.open();
  // "function", the mark, the name, a line with three marks and "json".
  bool isFenced = left.data[0] != '{';
  if (isFenced) {
    brace = placeOf(left, "{");
    if (brace > longestName)
      return left.size > longestName ? CallState::Broken : reading.open();
    Slice line = left.between(0, brace);
    reading.at += line.size;
    name = line.takeLine();
  }
  size_t size = bracketedSize(reading.rest());
  if (size == 0)
    return reading.open();
  Slice arguments = reading.rest().between(0, size);
  reading.at += size;
  name = bareName(trimmed(name));
  if (!isToolName(name) || !isJsonObject(arguments))
    return CallState::Broken;
  size_t after = reading.at;
  for (const char *mark : {isFenced ? "```" : nullptr, reading.format.end}) {
    if (!mark)
      continue;
    reading.skipSpace();
    CallState state = reading.takeMark(mark);
    if (state == CallState::Open)
      return state;
    after = state == CallState::Whole ? reading.at : after;
  }
  reading.at = after;
  reading.hand({name,
                id.size                                         ? id
                : trimmed(head).startsWith(Slice("functions.")) ? trimmed(head)
                                                                : Slice(),
                arguments});
  return CallState::Whole;
}

} // namespace

CallState readCalls(const AnswerFormat &format, const ToolList &tools, Slice text, bool isEnd,
                    size_t &size, const CallSink &sink, bool &goesOn) {
  CallReading reading{format, tools, text, isEnd, sink, goesOn};
  CallState state = CallState::Broken;
  switch (format.body) {
  case CallBody::Json:
    state = readJson(reading);
    break;
  case CallBody::Named:
    state = readNamed(reading);
    break;
  case CallBody::Tags:
  case CallBody::Pairs:
  case CallBody::Words:
    return readTaggedCall(format, tools, text, isEnd, size, sink, goesOn);
  case CallBody::Channels:
    break;
  }
  size = reading.at;
  return state;
}

} // namespace attn
