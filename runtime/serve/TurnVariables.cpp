// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Turns as the variables of a chat template, in the form that the template takes.
#include "serve/Turns.h"

#include "base/Json.h"

namespace attn {

/// Appends `, "key": "text"`.
static bool appendMember(const char *key, Slice text, Vector<char> &json) {
  return append(json, Slice(", \"")) && append(json, Slice(key)) && append(json, Slice("\": ")) &&
         appendJsonString(text, json);
}

bool Turns::appendTurn(const Turn &turn, const Style &style, Vector<char> &json) const {
  bool isGood = append(json, Slice("{\"role\": ")) && appendJsonString(sliceOf(turn.role), json) &&
                append(json, Slice(", \"content\": "));
  Vector<char> text;
  bool isList = turn.hasPictures;
  isGood = isGood && (!isList || json.push('['));
  for (size_t i = 0; isGood && i < turn.contentCount; ++i) {
    const Content &content = contents[turn.firstContent + i];
    if (isList) {
      isGood =
          (i == 0 || append(json, Slice(", "))) &&
          append(json, Slice(content.isPicture ? "{\"type\": \"image\"" : "{\"type\": \"text\"")) &&
          (content.isPicture || appendMember("text", sliceOf(content.text), json)) &&
          json.push('}');
    } else {
      isGood = append(text, sliceOf(content.text));
    }
  }
  if (isList)
    isGood = isGood && json.push(']');
  else if (text.empty() && turn.callCount > 0 && !style.isContentText)
    isGood = isGood && append(json, Slice("null"));
  else
    isGood = isGood && appendJsonString(Slice(text), json);
  if (turn.name.exists())
    isGood = isGood && appendMember("name", sliceOf(turn.name), json);
  if (turn.callId.exists())
    isGood = isGood && appendMember("tool_call_id", sliceOf(turn.callId), json);
  if (turn.thought.exists())
    isGood = isGood && appendMember("reasoning_content", sliceOf(turn.thought), json);
  for (size_t i = 0; isGood && i < turn.callCount; ++i) {
    const Call &call = calls[turn.firstCall + i];
    isGood = append(json, Slice(i ? ", {\"type\": \"function\""
                                  : ", \"tool_calls\": [{\"type\": \"function\"")) &&
             (!call.id.exists() || appendMember("id", sliceOf(call.id), json)) &&
             append(json, Slice(", \"function\": {\"name\": ")) &&
             appendJsonString(sliceOf(call.name), json) &&
             append(json, Slice(", \"arguments\": ")) &&
             (style.areArgumentsTexts ? appendJsonString(sliceOf(call.arguments), json)
                                      : append(json, sliceOf(call.arguments))) &&
             append(json, Slice("}}"));
  }
  return isGood && (turn.callCount == 0 || json.push(']')) && json.push('}');
}

bool Turns::appendVariables(const ToolList &tools, Slice variables, const Style &style,
                            Vector<char> &json) const {
  // What is given further comes first, so that it replaces none of these.
  bool isGood = json.push('{');
  if (variables.size > 2 && bracketedSize(variables) > 2) {
    Slice inside = variables.between(1, bracketedSize(variables) - 1);
    JsonReader reader(variables.data, variables.size);
    Vector<char> key;
    reader.enterObject();
    isGood = isGood && append(json, inside) && (!reader.nextKey(key) || append(json, Slice(", ")));
  }
  isGood = isGood && append(json, Slice("\"add_generation_prompt\": true, \"messages\": ["));
  for (size_t i = 0; isGood && i < turns.size(); ++i)
    isGood = (i == 0 || append(json, Slice(", "))) && appendTurn(turns[i], style, json);
  isGood = isGood && json.push(']');
  if (!tools.empty())
    isGood = isGood && append(json, Slice(", \"tools\": ")) && append(json, tools.json());
  return isGood && json.push('}');
}

attn_status Turns::render(const attn_chat_template &chatTemplate, const ToolList &tools,
                          Slice variables, Vector<char> &text, char **message) const {
  // The first way that the template does not refuse; only calls are taken in several.
  static constexpr Style styles[] = {{false, false}, {false, true}, {true, false}, {true, true}};
  size_t count = calls.empty() ? 1 : sizeof styles / sizeof *styles;
  attn_status status = ATTN_OK;
  for (size_t i = 0; i < count; ++i) {
    Vector<char> json;
    char *rendered = nullptr, *problem = nullptr;
    size_t size = 0;
    if (!appendVariables(tools, variables, styles[i], json))
      return ATTN_OUT_OF_MEMORY;
    attn_status own = attn_chat_template_render(&chatTemplate, json.data(), json.size(), &rendered,
                                                &size, &problem);
    if (own == ATTN_OK) {
      attn_message_free(i > 0 ? *message : nullptr);
      *message = nullptr;
      bool isKept = text.append(rendered, size);
      attn_message_free(rendered);
      return isKept ? ATTN_OK : ATTN_OUT_OF_MEMORY;
    }
    // What it says of the first one counts.
    if (i == 0)
      status = own, *message = problem;
    else
      attn_message_free(problem);
  }
  return status;
}

} // namespace attn
