// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// --lines of entries that read or write texts.
#pragma once

#include "main/LineJob.h"

namespace attn {

/// Texts, or pairs of them, to vectors or labels: by an entry that checkTextEntry takes.
attn_status runTextLines(const PromptRun &run, const attn_tokenizer &tokenizer, Error &error);

/// Texts that are gone on from, and pictures and sounds that are written down: by an entry that
/// generates.
attn_status runWrittenLines(const PromptRun &run, const attn_tokenizer &tokenizer, Error &error);

} // namespace attn
