// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Speech to text: a recording in windows of 30 s, each of which an entry that generates writes
// down.
#pragma once

#include "run/Generation.h"
#include "session/SpeechRules.h"

namespace attn {

/// One transcription. What it refers to outlives it.
class Speech {
public:
  Speech(attn_context &context, int32_t entry, const attn_tokenizer &tokenizer,
         const attn_speech_options &options, Error &error)
      : context(context), number(entry), entry(context.model->tables->entries[entry]),
        tokenizer(tokenizer), options(options), error(error) {}

  /// Writes down a spectrogram, [bands, frames + a window].
  attn_status transcribe(const float *mel, int64_t frames);

private:
  /// Whether the entry takes a spectrogram and nothing else, and how large a window of it is.
  attn_status check();
  /// Runs the entry on the window that begins at frame `seek`: its tokens are in `written`.
  attn_status listen(const float *mel, int64_t frames);
  /// Hands over the segments of a window of `size` frames; how many frames it has taken.
  int64_t takeSegments(int64_t size);
  /// Hands over tokens as text; times in seconds.
  bool takeText(size_t begin, size_t end, double from, double to);
  bool isTimestamp(size_t at) const { return rules.isTimestamp(written[at]); }
  static int32_t onTokens(void *user, const int32_t *tokens, int64_t rows);
  static void onScores(void *user, float *scores, int64_t rows, int64_t vocabulary);

  attn_context &context;
  int32_t number;
  const attn_abi_entry &entry;
  const attn_tokenizer &tokenizer;
  const attn_speech_options &options;
  Error &error;
  SpeechRules rules;
  int64_t bands = 0, window = 0, seek = 0;
  double framesPerSecond = 0;
  Vector<int32_t> written;
  Vector<float> part; ///< the window
  bool isWanted = true;
};

} // namespace attn
