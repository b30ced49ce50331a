// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files of tokenizers, of all kinds: what opens encodes a text of mixed scripts, and decodes all of
// its tokens.
#include "Targets.h"
#include "attn/text.h"
#include <cstring>

static const char sampleText[] =
    "Hello  w\xc3\xb6rld's 12 \xf0\x9f\x98\x80\n\xe2\x96\x81 e\xcc\x81\xcc\xa3 "
    "\xe4\xbd\xa0<s></s>[MASK]\xea\xb0\x81\xff";

static void decode(const attn_tokenizer *tokenizer, const attn_tokens &tokens) {
  char *text = nullptr, *message = nullptr;
  attn_decoding *decoding = nullptr;
  if (attn_tokenizer_decode(tokenizer, tokens.ids, tokens.count, 0, &text, nullptr, &message))
    attn::fuzz::require(message && *message, "an error without words");
  attn_message_free(text);
  attn_message_free(message);
  attn::fuzz::require(attn_decoding_create(tokenizer, 1, &decoding, nullptr) == ATTN_OK,
                      "no decoding");
  for (int64_t i = 0; i < tokens.count; ++i) {
    const char *part = nullptr;
    size_t size = 0;
    if (attn_decoding_add(decoding, tokens.ids[i], &part, &size, nullptr) == ATTN_OK)
      attn::fuzz::require(strlen(part) <= size, "a text without its end");
  }
  attn_decoding_destroy(decoding);
}

void attn::fuzz::tokenizer(const uint8_t *data, size_t size) {
  attn_tokenizer *opened = nullptr;
  char *message = nullptr;
  if (attn_tokenizer_open_memory(data, size, &opened, &message)) {
    require((message && *message) || (!data && size == 0), "an error without words");
    attn_message_free(message);
    return;
  }
  for (int32_t flags : {0, 13}) {
    attn_tokens tokens = {};
    if (attn_tokenizer_encode_pair(opened, sampleText, sizeof sampleText - 1, "b", 1, flags,
                                   &tokens, &message)) {
      require(message && *message, "an error without words");
      attn_message_free(message);
      continue;
    }
    for (int64_t i = 0; i < tokens.count; ++i)
      require(tokens.begins[i] <= tokens.ends[i] && tokens.ends[i] < int64_t(sizeof sampleText),
              "a token outside of its text");
    decode(opened, tokens);
    attn_tokens_free(&tokens);
  }
  attn_tokenizer_destroy(opened);
}
