// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Completions as JSON, whole and in pieces, in the forms of OpenAI's API.
#pragma once

#include "serve/Completions.h"

namespace attn {

/// Writes answers of /v1/completions and /v1/chat/completions.
class AnswerWriter {
public:
  explicit AnswerWriter(const Completion &of) : of(of) {}

  /// Appends an answer of a text, or a piece of one that ends for a reason, or goes on where that
  /// is null.
  void appendText(Slice text, const char *ending, Text &out) const;
  /// Appends a piece of an answer of a chat, null where there is none: likewise.
  void appendDelta(const AnswerPart *part, const WrittenItem *item, const char *ending,
                   Text &out) const;
  /// Appends the whole answer, or what ends a stream.
  void appendAnswer(Text &out) const;

private:
  /// A token as it is called in lists of probabilities, and its bytes.
  void appendToken(int32_t token, float logprob, Text &out) const;
  /// The probabilities that have not been said; null where none are asked for.
  void appendLogprobs(Text &out) const;
  /// The same as /v1/completions has them.
  void appendLogprobsOfText(Text &out) const;
  /// Why an answer ended, or null where it goes on, and the end of its choice.
  void appendEnding(const char *ending, Text &out) const;
  /// The whole answer of a chat.
  void appendMessage(const char *ending, Text &out) const;
  /// A call of a tool.
  void appendCall(const WrittenItem &item, bool hasIndex, Text &out) const;
  /// What stands in front of the choices, and behind them.
  void appendHead(Text &out) const;
  void appendUsage(Text &out) const; ///< the latter

  const Completion &of;
};

/// Writes answers of /v1/responses, whose events have numbers.
class ResponseWriter {
public:
  explicit ResponseWriter(Completion &of) : of(of) {}

  /// Appends the events of a part, which may begin an item.
  void appendPart(const AnswerPart &part, bool isNew, Text &out);
  /// Appends the whole answer, or what ends a stream.
  void appendAnswer(Text &out);

private:
  /// The object that a response is, in a state.
  void appendResponse(const char *status, Text &out) const;
  /// One of its items, whole or as it begins.
  void appendOutput(size_t index, bool isDone, Text &out) const;
  /// What an item says, likewise.
  void appendContentPart(const WrittenItem &item, bool isDone, Text &out) const;
  /// The beginning of an event.
  void appendEvent(const char *type, Text &out);
  /// The events that begin a response, and the last item, and that end it.
  void beginEvents(Text &out);
  void openItem(Text &out);  ///< the second
  void closeItem(Text &out); ///< the last

  Completion &of;
};

} // namespace attn
