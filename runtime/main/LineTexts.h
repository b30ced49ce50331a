// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// --lines of entries that read or write texts.
#pragma once

#include "main/LineJob.h"

namespace attn {

/// What lines of texts, or of pairs of them, need to become vectors or labels.
struct TextLines {
  const PromptRun &run;
  const attn_tokenizer &tokenizer;
  bool arePlain = false; ///< a line is its text, no object
  int64_t width = 0;     ///< of a row
  bool hasLabels = false;

  /// Fills in the work of such lines, which this outlives: without labels, vectors.
  /// ATTN_INVALID_ARGUMENT where the entry makes no rows of texts.
  attn_status prepare(const Labels *labels, LineWork &work, Error &error);
  /// LineWork::read.
  attn_status read(Line &line, Error &error) const;
  /// LineWork::make.
  attn_status make(attn_context &context, Line *const *lines, int64_t count, Error &error) const;
};

/// Texts, or pairs of them, to vectors or labels, by an entry that makes rows of texts.
attn_status runTextLines(const PromptRun &run, const attn_tokenizer &tokenizer, Error &error);

/// Texts that are gone on from, and pictures and sounds that are written down: by an entry that
/// generates.
attn_status runWrittenLines(const PromptRun &run, const attn_tokenizer &tokenizer, Error &error);

} // namespace attn
