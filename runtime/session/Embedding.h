// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Texts as vectors, by an entry that makes one of each.
#pragma once

#include "attn/text.h"
#include "base/Slice.h"
#include "run/Generation.h"

namespace attn {

/// Whether an entry makes a row of numbers of each text: it takes tokens, i32[B, T], perhaps which
/// of two texts each is of, and `lengths`; its first output is f32[B, D].
attn_status checkTextEntry(const attn_abi_entry &entry, Error &error);

/// The tokens of a text, or of two that belong together where `pair` is not null. One with more
/// tokens than the entry takes is an error, or is cut at its end where `truncates`.
attn_status readTextTokens(const attn_abi_model &tables, int32_t entry,
                           const attn_tokenizer &tokenizer, Slice text, const Slice *pair,
                           bool truncates, attn_tokens &tokens, Error &error);

/// Runs an entry on `count` texts that have the same number of tokens, so that none is padded.
/// `outputs` are its outputs, of which the first has a row for each.
attn_status runTexts(attn_context &context, int32_t entry, const attn_tokens *const *texts,
                     int64_t count, Outputs &outputs, Error &error);

/// Appends the vector of a text to `vector`.
attn_status embedText(attn_context &context, int32_t entry, const attn_tokenizer &tokenizer,
                      Slice text, bool truncates, Vector<float> &vector, Error &error);

} // namespace attn
