// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Turns as JSON, which templates take, and answers as turns.
#include "session/Chat.h"
#include "base/Utf8.h"
#include "text/steps/Unicode.h"

using namespace attn;

/// Appends a string of JSON.
static bool appendString(Slice text, Vector<char> &json) {
  Vector<char> valid;
  for (size_t at = 0; at < text.size;) {
    size_t length = utf8Length(text.data + at, text.size - at);
    if (!append(valid, length ? text.between(at, at + length) : Slice("\xef\xbf\xbd")))
      return false;
    at += length ? length : invalidLength(text.data + at, text.size - at);
  }
  return jinja::appendJson(jinja::Value::of(Slice(valid)), jinja::JsonStyle(), json);
}

attn_status Chat::addPicture(const char *path, Error &error) {
  attn_status status = session.addPicture(path, error);
  pictures += status == ATTN_OK;
  return status;
}

/// Appends what a turn says: a string, or where there are pictures a list with them in front.
static bool appendContent(Slice content, int pictures, Vector<char> &turns) {
  if (pictures == 0)
    return appendString(content, turns);
  bool isAdded = turns.push('[');
  for (int i = 0; i < pictures; ++i)
    isAdded = isAdded && append(turns, Slice("{\"type\":\"image\"},"));
  return isAdded && append(turns, Slice("{\"type\":\"text\",\"text\":")) &&
         appendString(content, turns) && append(turns, Slice("}]"));
}

bool Chat::add(Slice role, Slice content) {
  size_t before = turns.size();
  bool isAdded = (turns.empty() || turns.push(',')) && append(turns, Slice("{\"role\":")) &&
                 appendString(role, turns) && append(turns, Slice(",\"content\":")) &&
                 appendContent(content, pictures, turns) && turns.push('}');
  if (isAdded)
    pictures = 0;
  else
    turns.resize(before);
  return isAdded;
}

int32_t Chat::onText(void *user, const char *text, size_t size) {
  auto &chat = *static_cast<Chat *>(user);
  chat.hasRoom = chat.hasRoom && append(chat.answered, Slice(text, size));
  return chat.hasRoom &&
         (!chat.options->onText || chat.options->onText(chat.options->user, text, size));
}

attn_status Chat::answer(const attn_text_options &given, attn_text_result &result, Error &error) {
  Vector<char> variables, text;
  if (!append(variables, Slice("{\"add_generation_prompt\":true,\"messages\":[")) ||
      !append(variables, Slice(turns)) || !append(variables, Slice("]}")))
    return error.outOfMemory("a chat");
  if (attn_status status = chatTemplate.render(Slice(variables), text, error))
    return status;
  attn_text_options own = given;
  own.flags = 0; // the template puts special tokens
  own.onText = onText, own.user = this;
  options = &given, hasRoom = true;
  answered.clear();
  if (attn_status status = session.prompt(text.data(), text.size(), own, error))
    return status;
  if (attn_status status = session.generate(own, result, error))
    return status;
  if (!hasRoom || !add(Slice("assistant"), Slice(answered)))
    return error.outOfMemory("a chat");
  return ATTN_OK;
}
