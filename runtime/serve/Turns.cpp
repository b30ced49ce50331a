// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Messages and items: what of them templates know.
#include "serve/Turns.h"

#include "base/Json.h"
#include "serve/Fields.h"
#include "text/steps/Charsmap.h"

namespace attn {

bool Turns::keep(Slice text, Part &part) {
  part = {bytes.size(), text.size};
  return append(bytes, text) || exchange.failWithoutMemory();
}

bool Turns::readPart(size_t place, const char *what, Part &part) {
  size_t begin = bytes.size();
  if (!readText(exchange, place, what, bytes))
    return false;
  part = {begin, bytes.size() - begin};
  return true;
}

bool Turns::addPicture(size_t place) {
  Vector<char> url;
  if (!readText(exchange, place, "the `url` of a picture", url))
    return false;
  Slice rest(url);
  static constexpr const char *comma = ";base64,";
  size_t found = placeOf(rest.between(0, rest.size < 100 ? rest.size : 100), comma);
  if (!rest.startsWith(Slice("data:")) || found == SIZE_MAX)
    return fail("the `url` of a picture is none of its bytes: expected "
                "data:image/png;base64,... (nothing is fetched from elsewhere)");
  Part part;
  Vector<char> decoded;
  if (!decodeBase64(rest.from(found + strlen(comma)), decoded))
    return fail("the `url` of a picture holds something else than base64");
  if (!keep(Slice(decoded), part))
    return false;
  return pictures.push(part) || exchange.failWithoutMemory();
}

bool Turns::addContent(size_t place) {
  Content content = {Part(), false};
  size_t text = place, url = place;
  bool isObject = exchange.body[place] == '{', hasText = !isObject, hasUrl = false;
  if (isObject) {
    Vector<char> type;
    const Field fields[] = {{"type", Field::String, &type},
                            {"text", Field::Place, &text, nullptr, &hasText},
                            {"refusal", Field::Place, &text, nullptr, &hasText},
                            {"image_url", Field::Place, &url, nullptr, &hasUrl},
                            {"detail", Field::Ignored},
                            {"annotations", Field::Ignored},
                            {"logprobs", Field::Ignored},
                            {"parsed", Field::Ignored},
                            // Fields of its message, which @openai/agents repeats here.
                            {"role", Field::Ignored},
                            {"tool_calls", Field::Ignored},
                            {"reasoning_content", Field::Ignored}};
    if (!readFields(exchange, place, "a part of `content`", fields, sizeof fields / sizeof *fields))
      return false;
    Slice is(type);
    bool isText = is.is("text") || is.is("input_text") || is.is("output_text") || is.is("refusal"),
         isPicture = is.is("image_url") || is.is("input_image");
    if (isText ? !hasText : !isPicture || !hasUrl)
      return exchange.fail(400,
                           "a part of `content` is of type `%.32s`, or without what that says: "
                           "expected {\"type\": \"text\", \"text\": ...} or {\"type\": "
                           "\"image_url\", \"image_url\": {\"url\": ...}}",
                           type.empty() ? "" : type.data()),
             false;
    content.isPicture = isPicture;
  }
  if (content.isPicture && exchange.body[url] == '{') {
    bool hasOwn = false;
    size_t object = url;
    const Field fields[] = {{"url", Field::Place, &url, nullptr, &hasOwn},
                            {"detail", Field::Ignored}};
    if (!readFields(exchange, object, "`image_url`", fields, 2))
      return false;
    if (!hasOwn)
      return fail("`image_url` has no `url`");
  }
  if (content.isPicture ? !addPicture(url) : !readPart(text, "`content`", content.text))
    return false;
  return contents.push(content) || exchange.failWithoutMemory();
}

bool Turns::readContents(size_t place, Turn &turn) {
  turn.firstContent = contents.size();
  auto take = [](void *self, size_t part) { return static_cast<Turns *>(self)->addContent(part); };
  if (!forEachElement(exchange, place, take, this))
    return false;
  turn.contentCount = contents.size() - turn.firstContent;
  for (size_t i = turn.firstContent; i < contents.size(); ++i)
    turn.hasPictures |= contents[i].isPicture;
  return true;
}

bool Turns::addCall(Call &call, size_t name, size_t arguments) {
  if (!readPart(name, "the `name` of a call", call.name))
    return false;
  if (exchange.body[arguments] == '{') {
    JsonReader reader(exchange.body.data() + arguments, exchange.bodySize - arguments);
    reader.skipValue();
    if (!keep({exchange.body.data() + arguments, reader.position}, call.arguments))
      return false;
  } else if (!readPart(arguments, "the `arguments` of a call", call.arguments)) {
    return false;
  }
  if (call.arguments.size == 0 && !keep(Slice("{}"), call.arguments))
    return false;
  if (!isJsonObject(sliceOf(call.arguments)))
    return exchange.fail(400, "the `arguments` of a call of `%.*s` are no JSON object",
                         int(call.name.size < 64 ? call.name.size : 64), sliceOf(call.name).data),
           false;
  return calls.push(call) || exchange.failWithoutMemory();
}

bool Turns::addCall(size_t place) {
  size_t id = 0, function = 0, name = 0, arguments = 0;
  bool hasId = false, hasFunction = false, hasName = false, hasArguments = false;
  const Field fields[] = {{"id", Field::Place, &id, nullptr, &hasId},
                          {"type", Field::Only, nullptr, "\"function\""},
                          {"function", Field::Place, &function, nullptr, &hasFunction},
                          {"index", Field::Ignored}};
  if (!readFields(exchange, place, "an element of `tool_calls`", fields, 4))
    return false;
  const Field parts[] = {{"name", Field::Place, &name, nullptr, &hasName},
                         {"arguments", Field::Place, &arguments, nullptr, &hasArguments},
                         {"parsed_arguments", Field::Ignored}};
  if (!hasFunction)
    return fail("an element of `tool_calls` has no `function`");
  if (!readFields(exchange, function, "the `function` of a call", parts, 3))
    return false;
  if (!hasName || !hasArguments)
    return fail(hasName ? "the `function` of a call has no `arguments`"
                        : "the `function` of a call has no `name`");
  Call call;
  return (!hasId || readPart(id, "the `id` of a call", call.id)) && addCall(call, name, arguments);
}

/// The role that templates know.
static Slice knownRole(Slice role) { return role.is("developer") ? Slice("system") : role; }

bool Turns::addText(const char *role, size_t place, const char *what) {
  Turn turn;
  Content content = {Part(), false};
  turn.firstContent = contents.size();
  turn.contentCount = 1;
  if (!keep(Slice(role), turn.role) || !readPart(place, what, content.text))
    return false;
  return (contents.push(content) && turns.push(turn)) || exchange.failWithoutMemory();
}

bool Turns::addMessage(size_t place) {
  Vector<char> role;
  Turn turn;
  size_t content = 0, name = 0, callId = 0, list = 0, thought = 0;
  bool hasContent = false, hasName = false, hasCallId = false, hasCalls = false, thinks = false;
  const Field fields[] = {{"role", Field::String, &role},
                          {"content", Field::Place, &content, nullptr, &hasContent},
                          {"name", Field::Place, &name, nullptr, &hasName},
                          {"tool_calls", Field::Place, &list, nullptr, &hasCalls},
                          {"tool_call_id", Field::Place, &callId, nullptr, &hasCallId},
                          {"reasoning_content", Field::Place, &thought, nullptr, &thinks},
                          {"reasoning", Field::Place, &thought, nullptr, &thinks},
                          {"refusal", Field::Ignored},
                          {"annotations", Field::Ignored},
                          {"parsed", Field::Ignored},
                          {"audio", Field::Only, nullptr, "null"},
                          {"function_call", Field::Only, nullptr, "null"}};
  if (!readFields(exchange, place, "an element of `messages`", fields,
                  sizeof fields / sizeof *fields))
    return false;
  if (role.empty() || (!hasContent && !hasCalls))
    return fail(role.empty() ? "an element of `messages` has no `role`"
                             : "an element of `messages` has no `content`");
  if (hasCalls && !Slice(role).is("assistant"))
    return fail("an element of `messages` has `tool_calls`, but is not of the assistant");
  turn.firstCall = calls.size();
  auto take = [](void *self, size_t call) { return static_cast<Turns *>(self)->addCall(call); };
  if (!keep(knownRole(Slice(role)), turn.role) || (hasContent && !readContents(content, turn)) ||
      (hasName && !readPart(name, "`name`", turn.name)) ||
      (hasCallId && !readPart(callId, "`tool_call_id`", turn.callId)) ||
      (thinks && !readPart(thought, "`reasoning_content`", turn.thought)))
    return false;
  if (hasCalls && exchange.body[list] != '[')
    return fail("`tool_calls` is no list");
  if (hasCalls && !forEachElement(exchange, list, take, this))
    return false;
  turn.callCount = calls.size() - turn.firstCall;
  return turns.push(turn) || exchange.failWithoutMemory();
}

Turns::Turn *Turns::assistant() {
  // Calls of one turn follow each other in their list.
  if (!turns.empty() && sliceOf(turns.back().role).is("assistant"))
    return &turns.back();
  Turn turn;
  turn.firstCall = calls.size();
  if (!keep(Slice("assistant"), turn.role))
    return nullptr;
  return turns.push(turn) ? &turns.back() : (exchange.failWithoutMemory(), nullptr);
}

bool Turns::addCallItem(size_t place) {
  size_t id = 0, name = 0, arguments = 0;
  bool hasId = false, hasName = false, hasArguments = false;
  const Field fields[] = {{"type", Field::Ignored},
                          {"id", Field::Ignored},
                          {"status", Field::Ignored},
                          {"call_id", Field::Place, &id, nullptr, &hasId},
                          {"name", Field::Place, &name, nullptr, &hasName},
                          {"arguments", Field::Place, &arguments, nullptr, &hasArguments},
                          {"parsed_arguments", Field::Ignored}};
  if (!readFields(exchange, place, "a `function_call`", fields, sizeof fields / sizeof *fields))
    return false;
  if (!hasId || !hasName || !hasArguments)
    return fail("a `function_call` lacks one of `call_id`, `name` and `arguments`");
  Turn *turn = assistant();
  if (!turn)
    return false;
  if (turn->callCount == 0)
    turn->firstCall = calls.size();
  Call call;
  if (!readPart(id, "`call_id`", call.id) || !addCall(call, name, arguments))
    return false;
  return ++turn->callCount > 0;
}

bool Turns::addResult(size_t place) {
  size_t id = 0, output = 0;
  bool hasId = false, hasOutput = false;
  const Field fields[] = {{"type", Field::Ignored},
                          {"id", Field::Ignored},
                          {"status", Field::Ignored},
                          {"call_id", Field::Place, &id, nullptr, &hasId},
                          {"output", Field::Place, &output, nullptr, &hasOutput}};
  if (!readFields(exchange, place, "a `function_call_output`", fields, 5))
    return false;
  if (!hasId || !hasOutput)
    return fail("a `function_call_output` lacks one of `call_id` and `output`");
  Turn turn;
  if (!keep(Slice("tool"), turn.role) || !readPart(id, "`call_id`", turn.callId) ||
      !readContents(output, turn))
    return false;
  return turns.push(turn) || exchange.failWithoutMemory();
}

bool Turns::addThought(size_t place) {
  size_t list = 0;
  bool hasList = false;
  const Field fields[] = {{"type", Field::Ignored},
                          {"id", Field::Ignored},
                          {"status", Field::Ignored},
                          {"summary", Field::Ignored},
                          {"encrypted_content", Field::Ignored},
                          {"content", Field::Place, &list, nullptr, &hasList}};
  if (!readFields(exchange, place, "a `reasoning`", fields, 6))
    return false;
  // It begins a turn, which the items behind it belong to.
  Turn turn;
  turn.firstCall = calls.size();
  if (!keep(Slice("assistant"), turn.role))
    return false;
  turn.thought = {bytes.size(), 0};
  auto take = [](void *self, size_t part) {
    auto &turns = *static_cast<Turns *>(self);
    size_t text = 0;
    bool hasText = false;
    const Field own[] = {{"type", Field::Only, nullptr, "\"reasoning_text\""},
                         {"text", Field::Place, &text, nullptr, &hasText}};
    return readFields(turns.exchange, part, "a part of a `reasoning`", own, 2) &&
           (!hasText || readText(turns.exchange, text, "`text`", turns.bytes));
  };
  if (hasList && !forEachElement(exchange, list, take, this))
    return false;
  turn.thought.size = bytes.size() - turn.thought.begin;
  if (turn.thought.size == 0)
    turn.thought = Part();
  return turns.push(turn) || exchange.failWithoutMemory();
}

bool Turns::addItem(size_t place) {
  if (exchange.body[place] != '{')
    return fail("an element of `input` is no object");
  // The type comes wherever it likes.
  Vector<char> key, type;
  JsonReader reader(exchange.body.data() + place, exchange.bodySize - place);
  reader.enterObject();
  while (reader.nextKey(key))
    if (!(Slice(key).is("type") && reader.peek() == '"' ? reader.readString(type)
                                                        : reader.skipValue()))
      break;
  Slice is(type);
  if (is.is("function_call"))
    return addCallItem(place);
  if (is.is("function_call_output"))
    return addResult(place);
  if (is.is("reasoning"))
    return addThought(place);
  if (is.size && !is.is("message"))
    return exchange.fail(400,
                         "an element of `input` is a `%.64s`: expected a message, function_call, "
                         "function_call_output or reasoning",
                         type.data()),
           false;
  Vector<char> role;
  Turn turn;
  size_t content = 0;
  bool hasContent = false;
  const Field fields[] = {
      {"role", Field::String, &role}, {"content", Field::Place, &content, nullptr, &hasContent},
      {"type", Field::Ignored},       {"id", Field::Ignored},
      {"status", Field::Ignored},     {"phase", Field::Ignored}};
  if (!readFields(exchange, place, "a message of `input`", fields, 6))
    return false;
  if (role.empty() || !hasContent)
    return fail(role.empty() ? "a message of `input` has no `role`"
                             : "a message of `input` has no `content`");
  bool isOfAssistant = Slice(role).is("assistant");
  // Behind what the assistant has thought stands what it says.
  Turn *open = isOfAssistant && !turns.empty() && sliceOf(turns.back().role).is("assistant") &&
                       turns.back().contentCount == 0 && turns.back().callCount == 0
                   ? &turns.back()
                   : nullptr;
  if (open)
    return readContents(content, *open);
  turn.firstCall = calls.size();
  if (!keep(knownRole(Slice(role)), turn.role) || !readContents(content, turn))
    return false;
  return turns.push(turn) || exchange.failWithoutMemory();
}

} // namespace attn
