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

/// A probability of 0 has a logarithm that is no number of JSON: OpenAI's servers say -9999.
static double numberOf(float logprob) { return logprob > -9999 ? double(logprob) : -9999; }

/// The text of one token within others, in `text`: what the second of two adds to the first, since
/// some tokenizers leave out a space in front of all.
static Slice textOf(const attn_tokenizer *tokenizer, int32_t token, char *&text) {
  const int32_t both[] = {token, token};
  char *one = nullptr;
  size_t oneSize = 0, size = 0;
  text = nullptr;
  bool isGood = attn_tokenizer_decode(tokenizer, both, 1, 0, &one, &oneSize, nullptr) == ATTN_OK &&
                attn_tokenizer_decode(tokenizer, both, 2, 0, &text, &size, nullptr) == ATTN_OK &&
                size >= oneSize;
  free(one);
  return isGood ? Slice(text + oneSize, size - oneSize) : Slice("", 0);
}

void AnswerWriter::appendToken(int32_t token, float logprob, Text &out) const {
  char *bytes = nullptr;
  Slice text = textOf(of.files->tokenizer, token, bytes);
  out.append("{\"token\": ");
  appendQuoted(text, out);
  out.append(", \"logprob\": %.9g, \"bytes\": [", numberOf(logprob));
  for (size_t i = 0; i < text.size; ++i)
    out.append(i ? ", %d" : "%d", int(static_cast<unsigned char>(text.data[i])));
  out.append("]");
  free(bytes);
}

void AnswerWriter::appendLogprobs(Text &out) const {
  if (!of.isTold)
    return out.append("null");
  if (of.form == CompletionForm::Text)
    return appendLogprobsOfText(out);
  out.append("{\"content\": [");
  for (size_t i = of.firstTold; i < of.told.size(); ++i) {
    const Completion::Told &told = of.told[i];
    out.append(i > of.firstTold ? ", " : "");
    appendToken(told.token, told.logprob, out);
    out.append(", \"top_logprobs\": [");
    for (size_t k = 0; k < told.count; ++k) {
      out.append(k ? ", " : "");
      appendToken(of.likeliest[told.likeliest + k], of.logprobs[told.likeliest + k], out);
      out.append("}");
    }
    out.append("]}");
  }
  out.append("], \"refusal\": null}");
}

void AnswerWriter::appendLogprobsOfText(Text &out) const {
  Text numbers, likeliest, offsets;
  size_t offset = 0;
  out.append("{\"tokens\": [");
  for (size_t i = 0; i < of.told.size(); ++i) {
    const Completion::Told &told = of.told[i];
    char *bytes = nullptr;
    Slice text = textOf(of.files->tokenizer, told.token, bytes);
    bool isSaid = i >= of.firstTold;
    const char *comma = i > of.firstTold ? ", " : "";
    if (isSaid) {
      out.append("%s", comma);
      appendQuoted(text, out);
      numbers.append("%s%.9g", comma, numberOf(told.logprob));
      offsets.append("%s%zu", comma, offset);
      likeliest.append("%s{", comma);
    }
    offset += text.size;
    free(bytes);
    for (size_t k = 0; isSaid && k < told.count; ++k) {
      Slice other = textOf(of.files->tokenizer, of.likeliest[told.likeliest + k], bytes);
      likeliest.append(k ? ", " : "");
      appendQuoted(other, likeliest);
      likeliest.append(": %.9g", numberOf(of.logprobs[told.likeliest + k]));
      free(bytes);
    }
    if (isSaid)
      likeliest.append("}");
  }
  if (numbers.failed() || likeliest.failed() || offsets.failed())
    return out.fail();
  bool areNone = of.firstTold == of.told.size();
  out.append("], \"token_logprobs\": [%s], \"top_logprobs\": [%s], \"text_offset\": [%s]}",
             areNone ? "" : numbers.c_str(), areNone ? "" : likeliest.c_str(),
             areNone ? "" : offsets.c_str());
}

void AnswerWriter::appendEnding(const char *ending, Text &out) const {
  out.append(", \"logprobs\": ");
  appendLogprobs(out);
  out.append(", \"finish_reason\": ");
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
