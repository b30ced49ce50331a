// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Speech to text by an entry that gives a token for each frame of a sound (connectionist temporal
// classification, Graves et al. 2006): the tokenizer makes one of neighbours that are the same, and
// leaves frames without a letter out.
#pragma once

#include "attn/text.h"
#include "run/Context.h"

namespace attn {

/// Writes down `count` samples of a sound by such an entry, as one piece of text.
attn_status transcribeFrames(attn_context &context, int32_t entry, const attn_tokenizer &tokenizer,
                             const float *samples, int64_t count,
                             const attn_speech_options &options, Error &error);

} // namespace attn
