// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The formats, as the chat templates of the models and OpenAI's description of harmony
// (github.com/openai/harmony, docs/format.md) have them.
#include "serve/AnswerFormat.h"

#include <initializer_list>

namespace attn {

/// The first row whose mark a template holds counts.
static constexpr AnswerFormat formats[] = {
    {"GPT-OSS", "<|channel|>", CallBody::Channels, nullptr, nullptr, nullptr, nullptr, nullptr},
    {"DeepSeek", "<｜tool▁calls▁begin｜>", CallBody::Named, "<｜tool▁call▁begin｜>",
     "<｜tool▁call▁end｜>", "<｜tool▁calls▁begin｜>", "<｜tool▁calls▁end｜>", "<｜tool▁sep｜>"},
    {"Kimi", "<|tool_calls_section_begin|>", CallBody::Named, "<|tool_call_begin|>",
     "<|tool_call_end|>", "<|tool_calls_section_begin|>", "<|tool_calls_section_end|>",
     "<|tool_call_argument_begin|>"},
    {"Mistral", "[TOOL_CALLS]", CallBody::Named, "[TOOL_CALLS]", nullptr, nullptr, nullptr,
     "[ARGS]"},
    {"Seed", "<seed:tool_call>", CallBody::Tags, "<function=", "</function>", "<seed:tool_call>",
     "</seed:tool_call>", "<parameter="},
    {"MiniMax", "<minimax:tool_call>", CallBody::Tags, "<invoke name=", "</invoke>",
     "<minimax:tool_call>", "</minimax:tool_call>", "<parameter name="},
    {"Qwen 3 Coder", "<function=", CallBody::Tags, "<function=", "</function>", "<tool_call>",
     "</tool_call>", "<parameter="},
    {"GLM 4.5", "<arg_key>", CallBody::Pairs, "<tool_call>", "</tool_call>", nullptr, nullptr,
     nullptr},
    {"FunctionGemma", "<start_function_call>", CallBody::Words, "<start_function_call>",
     "<end_function_call>", nullptr, nullptr, "<escape>"},
    {"Gemma 4", "<|tool_call>", CallBody::Words, "<|tool_call>", "<tool_call|>", nullptr, nullptr,
     "<|\"|>"},
    {"Command R7B", "<|START_ACTION|>", CallBody::Json, "<|START_ACTION|>", "<|END_ACTION|>",
     nullptr, nullptr, nullptr},
    {"Granite, Phi 4 mini", "<|tool_call|>", CallBody::Json, "<|tool_call|>", "<|/tool_call|>",
     nullptr, nullptr, nullptr},
    {"Jamba", "<tool_calls>", CallBody::Json, "<tool_calls>", "</tool_calls>", nullptr, nullptr,
     nullptr},
    {"Nemotron", "<TOOLCALL>", CallBody::Json, "<TOOLCALL>", "</TOOLCALL>", nullptr, nullptr,
     nullptr},
    {"Hermes, Qwen", "<tool_call>", CallBody::Json, "<tool_call>", "</tool_call>", nullptr, nullptr,
     nullptr},
    {"Llama 3", "\"parameters\": ", CallBody::Json, "<|python_tag|>", nullptr, nullptr, nullptr,
     nullptr, true},
};

static constexpr ThoughtMarks thoughts[] = {
    {"</think>", "<think>", "</think>"},
    {"[/THINK]", "[THINK]", "[/THINK]"},
    {"<|END_THINKING|>", "<|START_THINKING|>", "<|END_THINKING|>"},
    {"</seed:think>", "<seed:think>", "</seed:think>"},
    {"<|channel>thought", "<|channel>thought", "<channel|>"},
};

/// The marks of Channels.
static constexpr const char *channelMarks[] = {"<|start|>",   "<|channel|>", "<|constrain|>",
                                               "<|message|>", "<|end|>",     "<|call|>",
                                               "<|return|>"};

size_t placeOf(Slice text, const char *part) {
  if (text.size == 0)
    return SIZE_MAX;
  auto *found = static_cast<const char *>(memmem(text.data, text.size, part, strlen(part)));
  return found ? size_t(found - text.data) : SIZE_MAX;
}

const AnswerFormat *findAnswerFormat(Slice chatTemplate) {
  for (const AnswerFormat &format : formats)
    if (holds(chatTemplate, format.mark))
      return &format;
  return nullptr;
}

const ThoughtMarks *findThoughtMarks(Slice chatTemplate) {
  for (const ThoughtMarks &marks : thoughts)
    if (holds(chatTemplate, marks.mark))
      return &marks;
  return nullptr;
}

bool appendMarks(const AnswerFormat *format, const ThoughtMarks *thinks,
                 Vector<const char *> &marks) {
  auto add = [&](const char *mark) { return !mark || marks.push(mark); };
  bool isWhole = !thinks || (add(thinks->begin) && add(thinks->end));
  if (!format)
    return isWhole;
  for (const char *mark : {format->begin, format->end, format->section, format->sectionEnd,
                           format->middle, format->body == CallBody::Named ? "[CALL_ID]" : nullptr})
    isWhole = isWhole && add(mark);
  if (format->body == CallBody::Channels)
    for (const char *mark : channelMarks)
      isWhole = isWhole && add(mark);
  return isWhole;
}

} // namespace attn
