// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Texts as vectors, by an entry that makes one of each.
#pragma once

#include "attn/text.h"
#include "base/Slice.h"
#include "run/Generation.h"

namespace attn {

/// Appends the vector of a text to `vector`. The entry takes tokens, i32[B, T], perhaps which of
/// two texts each is of, and `lengths`; its first output is f32[B, D]. A text with more tokens than
/// the entry takes is an error, or is cut at its end where `truncates`.
attn_status embedText(attn_context &context, int32_t entry, const attn_tokenizer &tokenizer,
                      Slice text, bool truncates, Vector<float> &vector, Error &error);

} // namespace attn
