// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which tokens a model of speech may write next: Whisper's rules (Radford et al. 2023, section
// 4.5, and the decoding that was published with it).
#pragma once

#include "attn/text.h"
#include "base/Error.h"

namespace attn {

/// Stands for a token that the scores choose among all languages.
constexpr int32_t anyLanguage = -1;
/// Steps of a timestamp per second, and the largest that a text may begin with: 1 s.
constexpr int32_t timestampsPerSecond = 50, lastInitial = 50;

/// The rules of one window of 30 s. Timestamps are tokens behind `<|notimestamps|>`, 0.02 s apart.
class SpeechRules {
public:
  /// Finds the tokens that rules are about; what the spec forces says the language and the task
  /// where the options do not.
  attn_status read(const attn_tokenizer &tokenizer, const attn_speech_options &options,
                   Error &error);
  /// Sets scores of tokens that may not follow `written` to -infinity. Those of the head come
  /// first.
  void restrict(float *scores, int64_t vocabulary, const Vector<int32_t> &written) const;
  /// The language that has been heard is that of all windows to come.
  void keepLanguage(int32_t token);

  /// Whether a token is a time.
  bool isTimestamp(int32_t token) const { return firstTimestamp >= 0 && token >= firstTimestamp; }
  /// Of a timestamp: steps from the beginning of the window.
  int32_t stepsOf(int32_t token) const { return token - firstTimestamp; }
  /// How many tokens come before the text: language, task, and whether there are timestamps.
  size_t headSize() const { return head.size(); }

private:
  /// What comes before the text.
  attn_status readHead(const attn_tokenizer &tokenizer, const attn_speech_options &options,
                       Error &error);
  /// The token of a language that the options name.
  attn_status findLanguage(const attn_tokenizer &tokenizer, const char *name, int32_t &token,
                           Error &error) const;
  /// Whether a token is that of a language.
  bool isLanguage(int32_t token) const;
  /// The rules of pairs, order and the first timestamp.
  void restrictTimestamps(float *scores, int64_t vocabulary, const int32_t *written,
                          size_t count) const;

  const attn_generation *numbers = nullptr;
  bool hasTimestamps = false;
  int32_t noTimestamps = -1, firstTimestamp = -1;
  Vector<int32_t> languages, head;
};

} // namespace attn
