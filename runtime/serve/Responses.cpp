// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Answers of /v1/responses: items, and the events of a stream of them.
#include "base/Json.h"
#include "serve/CompletionWriters.h"
#include "serve/Fields.h"
#include <initializer_list>

namespace attn {

/// What stands in ids of items of a kind.
static const char *prefixOf(const WrittenItem &item) {
  return item.kind == AnswerPart::Content ? "msg" : item.kind == AnswerPart::Thought ? "rs" : "fc";
}

void ResponseWriter::appendContentPart(const WrittenItem &item, bool isDone, Text &out) const {
  bool isThought = item.kind == AnswerPart::Thought;
  out.append("{\"type\": \"%s\", \"text\": ", isThought ? "reasoning_text" : "output_text");
  appendQuoted(isDone ? of.written(item.begin, item.size) : Slice("", 0), out);
  out.append(isThought ? "}" : ", \"annotations\": [], \"logprobs\": []}");
}

void ResponseWriter::appendOutput(size_t index, bool isDone, Text &out) const {
  const WrittenItem &item = of.items[index];
  out.append("{\"id\": \"%s_%lld_%zu\", ", prefixOf(item), static_cast<long long>(of.number),
             index);
  const char *status = isDone ? "completed" : "in_progress";
  if (item.kind == AnswerPart::Call) {
    out.append("\"type\": \"function_call\", \"status\": \"%s\", \"call_id\": ", status);
    appendQuoted(of.written(item.id, item.idSize), out);
    out.append(", \"name\": ");
    appendQuoted(of.written(item.name, item.nameSize), out);
    out.append(", \"arguments\": ");
    appendQuoted(isDone ? of.written(item.begin, item.size) : Slice("", 0), out);
    out.append("}");
    return;
  }
  bool isThought = item.kind == AnswerPart::Thought;
  out.append(isThought ? "\"type\": \"reasoning\", \"summary\": [], \"content\": ["
                       : "\"type\": \"message\", \"role\": \"assistant\", \"content\": [");
  if (isDone)
    appendContentPart(item, true, out);
  out.append("], \"status\": \"%s\"}", status);
}

void ResponseWriter::appendResponse(const char *status, Text &out) const {
  // What a request has said, or else a word of JSON.
  auto appendSaid = [&](const char *key, size_t place, const char *otherwise) {
    out.append(", \"%s\": ", key);
    if (place == SIZE_MAX)
      return out.append("%s", otherwise);
    JsonReader reading(of.exchange.body.data() + place, of.exchange.bodySize - place);
    reading.skipValue();
    out.append("%.*s", int(reading.position), of.exchange.body.data() + place);
  };
  bool isWhole = strcmp(status, "completed") == 0, isCut = strcmp(status, "incomplete") == 0;
  out.append("{\"id\": \"resp_%lld\", \"object\": \"response\", \"created_at\": %lld, "
             "\"status\": \"%s\", \"error\": null, \"incomplete_details\": %s, \"model\": \"%s\", "
             "\"output\": [",
             static_cast<long long>(of.number), static_cast<long long>(of.created), status,
             isCut ? "{\"reason\": \"max_output_tokens\"}" : "null", of.exchange.target->name);
  for (size_t i = 0; (isWhole || isCut) && i < of.items.size(); ++i) {
    out.append(i ? ", " : "");
    appendOutput(i, true, out);
  }
  out.append("], \"parallel_tool_calls\": %s, \"previous_response_id\": null, \"store\": false, "
             "\"background\": false, \"truncation\": \"disabled\", \"temperature\": %.9g, "
             "\"top_p\": %.9g, \"max_output_tokens\": %lld, \"text\": {\"format\": {\"type\": "
             "\"%s\"}}, \"reasoning\": {\"effort\": ",
             of.isParallel ? "true" : "false", double(of.options.numbers.sampling.temperature),
             double(of.options.numbers.sampling.topP),
             static_cast<long long>(of.options.numbers.limit),
             of.shape.kind == ATTN_GRAMMAR_JSON_SCHEMA   ? "json_schema"
             : of.shape.kind == ATTN_GRAMMAR_JSON_OBJECT ? "json_object"
                                                         : "text");
  if (of.effort.empty())
    out.append("null");
  else
    appendQuoted(Slice(of.effort), out);
  out.append(", \"summary\": null}, \"user\": null");
  appendSaid("instructions", of.saidInstructions, "null");
  appendSaid("tools", of.saidTools, "[]");
  appendSaid("tool_choice", of.saidChoice, "\"auto\"");
  appendSaid("metadata", of.saidMetadata, "{}");
  if (!isWhole && !isCut) {
    out.append(", \"usage\": null}");
    return;
  }
  int64_t read = of.result.kept + of.result.read, all = read + of.result.written;
  out.append(", \"usage\": {\"input_tokens\": %lld, \"input_tokens_details\": {\"cached_tokens\": "
             "%lld}, \"output_tokens\": %lld, \"total_tokens\": %lld}}",
             static_cast<long long>(read), static_cast<long long>(of.result.kept),
             static_cast<long long>(of.result.written), static_cast<long long>(all));
}

void ResponseWriter::appendEvent(const char *type, Text &out) {
  out.append("event: response.%s\ndata: {\"type\": \"response.%s\", \"sequence_number\": %lld",
             type, type, static_cast<long long>(of.sequence++));
}

void ResponseWriter::beginEvents(Text &out) {
  for (const char *type : {"created", "in_progress"}) {
    appendEvent(type, out);
    out.append(", \"response\": ");
    appendResponse("in_progress", out);
    out.append("}\n\n");
  }
}

void ResponseWriter::openItem(Text &out) {
  size_t index = of.items.size() - 1;
  const WrittenItem &item = of.items.back();
  appendEvent("output_item.added", out);
  out.append(", \"output_index\": %zu, \"item\": ", index);
  appendOutput(index, false, out);
  out.append("}\n\n");
  if (item.kind == AnswerPart::Call)
    return;
  appendEvent("content_part.added", out);
  out.append(", \"item_id\": \"%s_%lld_%zu\", \"output_index\": %zu, \"content_index\": 0, "
             "\"part\": ",
             prefixOf(item), static_cast<long long>(of.number), index, index);
  appendContentPart(item, false, out);
  out.append("}\n\n");
}

/// The names of the events of an item's text.
static const char *eventOf(const WrittenItem &item, bool isDone) {
  static constexpr const char *names[][2] = {
      {"output_text.delta", "output_text.done"},
      {"reasoning_text.delta", "reasoning_text.done"},
      {"function_call_arguments.delta", "function_call_arguments.done"}};
  return names[item.kind][isDone];
}

void ResponseWriter::closeItem(Text &out) {
  size_t index = of.items.size() - 1;
  const WrittenItem &item = of.items.back();
  bool isCall = item.kind == AnswerPart::Call;
  auto appendPlace = [&] {
    out.append(", \"item_id\": \"%s_%lld_%zu\", \"output_index\": %zu", prefixOf(item),
               static_cast<long long>(of.number), index, index);
    out.append(isCall ? "" : ", \"content_index\": 0");
  };
  appendEvent(eventOf(item, true), out);
  appendPlace();
  out.append(item.kind == AnswerPart::Content ? ", \"logprobs\": []" : "");
  if (isCall) {
    out.append(", \"name\": ");
    appendQuoted(of.written(item.name, item.nameSize), out);
  }
  out.append(", \"%s\": ", isCall ? "arguments" : "text");
  appendQuoted(of.written(item.begin, item.size), out);
  out.append("}\n\n");
  if (!isCall) {
    appendEvent("content_part.done", out);
    appendPlace();
    out.append(", \"part\": ");
    appendContentPart(item, true, out);
    out.append("}\n\n");
  }
  appendEvent("output_item.done", out);
  out.append(", \"output_index\": %zu, \"item\": ", index);
  appendOutput(index, true, out);
  out.append("}\n\n");
}

void ResponseWriter::appendPart(const AnswerPart &part, bool isNew, Text &out) {
  if (!of.hasBegun)
    beginEvents(out);
  if (isNew) {
    // The item before is whole; a call is as soon as it comes.
    if (of.items.size() > 1 && of.items[of.items.size() - 2].kind != AnswerPart::Call) {
      WrittenItem own = of.items.back();
      of.items.pop();
      closeItem(out);
      if (!of.items.push(own))
        return out.fail();
    }
    openItem(out);
  }
  const WrittenItem &item = of.items.back();
  size_t index = of.items.size() - 1;
  appendEvent(eventOf(item, false), out);
  out.append(", \"item_id\": \"%s_%lld_%zu\", \"output_index\": %zu%s, \"delta\": ", prefixOf(item),
             static_cast<long long>(of.number), index, index,
             item.kind == AnswerPart::Call      ? ""
             : item.kind == AnswerPart::Content ? ", \"content_index\": 0, \"logprobs\": []"
                                                : ", \"content_index\": 0");
  appendQuoted(part.text, out);
  out.append("}\n\n");
  if (item.kind == AnswerPart::Call)
    closeItem(out);
}

void ResponseWriter::appendAnswer(Text &out) {
  bool isCut = strcmp(of.ending(), "length") == 0;
  const char *status = isCut ? "incomplete" : "completed";
  if (!of.streams)
    return appendResponse(status, out);
  if (!of.hasBegun)
    beginEvents(out);
  if (!of.items.empty() && of.items.back().kind != AnswerPart::Call)
    closeItem(out);
  appendEvent(status, out);
  out.append(", \"response\": ");
  appendResponse(status, out);
  out.append("}\n\n");
}

} // namespace attn
