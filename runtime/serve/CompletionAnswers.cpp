// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Answers of /v1/completions and /v1/chat/completions, whole and in pieces.
#include "base/Json.h"
#include "serve/CompletionWriters.h"
#include "serve/Fields.h"

namespace attn {

void AnswerWriter::appendHead(Text &out) const {
  bool isChat = of.form == CompletionForm::Chat;
  out.append("%s{\"id\": \"%s-%lld\", \"object\": \"%s%s\", \"created\": %lld, \"model\": \"%s\", "
             "\"choices\": [",
             of.streams ? "data: " : "", isChat ? "chatcmpl" : "cmpl",
             static_cast<long long>(of.number), isChat ? "chat.completion" : "text_completion",
             isChat && of.streams ? ".chunk" : "", static_cast<long long>(of.created),
             of.exchange.target->name);
}

void AnswerWriter::appendUsage(Text &out) const {
  int64_t read = of.result.kept + of.result.read, all = read + of.result.written;
  out.append("\"usage\": {\"prompt_tokens\": %lld, \"completion_tokens\": %lld, "
             "\"total_tokens\": %lld, \"prompt_tokens_details\": {\"cached_tokens\": %lld}}}",
             static_cast<long long>(read), static_cast<long long>(of.result.written),
             static_cast<long long>(all), static_cast<long long>(of.result.kept));
}

/// Why an answer ended, or null where it goes on, and the end of its choice.
static void appendEnding(const char *ending, Text &out) {
  out.append(", \"logprobs\": null, \"finish_reason\": ");
  if (ending)
    out.append("\"%s\"}]", ending);
  else
    out.append("null}]");
}

void AnswerWriter::appendText(Slice text, const char *ending, Text &out) const {
  appendHead(out);
  out.append("{\"index\": 0, \"text\": ");
  appendQuoted(text, out);
  appendEnding(ending, out);
  out.append(of.streams ? "}\n\n" : ", ");
}

void AnswerWriter::appendCall(const WrittenItem &item, bool hasIndex, Text &out) const {
  out.append("{");
  if (hasIndex) {
    size_t index = 0;
    for (const WrittenItem &other : of.items)
      index += other.kind == AnswerPart::Call && other.begin < item.begin;
    out.append("\"index\": %zu, ", index);
  }
  out.append("\"id\": ");
  appendQuoted(of.written(item.id, item.idSize), out);
  out.append(", \"type\": \"function\", \"function\": {\"name\": ");
  appendQuoted(of.written(item.name, item.nameSize), out);
  out.append(", \"arguments\": ");
  appendQuoted(of.written(item.begin, item.size), out);
  out.append("}}");
}

void AnswerWriter::appendDelta(const AnswerPart *part, const WrittenItem *item, const char *ending,
                               Text &out) const {
  appendHead(out);
  out.append("{\"index\": 0, \"delta\": {%s%s", of.hasBegun ? "" : "\"role\": \"assistant\"",
             part && !of.hasBegun ? ", " : "");
  if (part && part->kind == AnswerPart::Call) {
    out.append("\"tool_calls\": [");
    appendCall(*item, true, out);
    out.append("]");
  } else if (part) {
    out.append("\"%s\": ", part->kind == AnswerPart::Thought ? "reasoning_content" : "content");
    appendQuoted(part->text, out);
  }
  out.append("}");
  appendEnding(ending, out);
  out.append("}\n\n");
}

void AnswerWriter::appendMessage(const char *ending, Text &out) const {
  appendHead(out);
  Vector<char> texts[2]; // what is said and thought
  for (const WrittenItem &item : of.items)
    if (item.kind != AnswerPart::Call &&
        !append(texts[item.kind == AnswerPart::Thought], of.written(item.begin, item.size)))
      return out.fail();
  out.append("{\"index\": 0, \"message\": {\"role\": \"assistant\", \"content\": ");
  if (texts[0].empty() && of.hasCalls())
    out.append("null");
  else
    appendQuoted(Slice(texts[0]), out);
  if (!texts[1].empty()) {
    out.append(", \"reasoning_content\": ");
    appendQuoted(Slice(texts[1]), out);
  }
  bool isFirst = true;
  for (const WrittenItem &item : of.items)
    if (item.kind == AnswerPart::Call) {
      out.append(isFirst ? ", \"tool_calls\": [" : ", ");
      appendCall(item, false, out);
      isFirst = false;
    }
  out.append("%s, \"refusal\": null}", isFirst ? "" : "]");
  appendEnding(ending, out);
  out.append(", ");
}

bool Completion::hasCalls() const {
  for (const WrittenItem &item : items)
    if (item.kind == AnswerPart::Call)
      return true;
  return false;
}

const char *Completion::ending() const {
  bool isWhole =
      result.ending == ATTN_TEXT_ENDED_BY_TOKEN || result.ending == ATTN_TEXT_ENDED_BY_STOP;
  return hasCalls() && (isWhole || isDone) ? "tool_calls" : isWhole ? "stop" : "length";
}

void AnswerWriter::appendAnswer(Text &out) const {
  bool isChat = of.form == CompletionForm::Chat;
  if (!of.streams) {
    if (isChat)
      appendMessage(of.ending(), out);
    else
      appendText(of.items.empty() ? Slice("", 0) : of.written(of.items[0].begin, of.items[0].size),
                 of.ending(), out);
    appendUsage(out);
    return;
  }
  if (isChat)
    appendDelta(nullptr, nullptr, of.ending(), out);
  else
    appendText(Slice("", 0), of.ending(), out);
  if (of.wantsUsage) {
    appendHead(out);
    out.append("], ");
    appendUsage(out);
    out.append("\n\n");
  }
  out.append("data: [DONE]\n\n");
}

} // namespace attn
