/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * text_memory FILE...: opens each tokenizer, encodes and decodes a text, with the first allocation
 * failing, then the second, and so on, until all succeed. Nothing may crash, and what fails says
 * that memory was lacking, or nothing where even that took memory. Linked with --wrap of malloc,
 * calloc and realloc. */
#include "attn/text.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static long left = -1; /* allocations that still succeed; -1: all */
static int hasFailed;

static int fails(void) {
  if (left < 0)
    return 0;
  if (left == 0) {
    hasFailed = 1;
    left = -1;
    return 1;
  }
  --left;
  return 0;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *old, size_t size);
void *__wrap_malloc(size_t size) { return fails() ? NULL : __real_malloc(size); }
void *__wrap_calloc(size_t count, size_t size) {
  return fails() ? NULL : __real_calloc(count, size);
}
void *__wrap_realloc(void *old, size_t size) { return fails() ? NULL : __real_realloc(old, size); }

static const char text[] = "Hello  w\xc3\xb6rld's e\xcc\x81 12 \xe2\x96\x81 hello hello "
                           "\xf0\x9f\x98\x80\xff the quick brown fox jumps over the lazy dog";

/* The tokens where nothing failed. */
static attn_tokens expected;

/* Whether tokens are those that are expected. */
static int areExpected(const attn_tokens *tokens) {
  return tokens->count == expected.count &&
         memcmp(tokens->ids, expected.ids, (size_t)tokens->count * sizeof(int32_t)) == 0;
}

/* 0: all succeeded. */
static attn_status once(const char *bytes, size_t size, char **message) {
  attn_tokenizer *tokenizer = NULL;
  attn_decoding *decoding = NULL;
  attn_tokens tokens = {0};
  const char *part;
  char *decoded = NULL;
  attn_status status = attn_tokenizer_open_memory(bytes, size, &tokenizer, message);
  if (!status)
    status = attn_tokenizer_encode(tokenizer, text, sizeof text - 1, ATTN_TEXT_ADD_SPECIAL, &tokens,
                                   message);
  if (!status && expected.ids && !areExpected(&tokens)) {
    printf("other tokens, without an error\n");
    exit(1);
  }
  if (!status)
    status = attn_tokenizer_decode(tokenizer, tokens.ids, tokens.count, 0, &decoded, NULL, message);
  if (!status)
    status = attn_decoding_create(tokenizer, 0, &decoding, message);
  if (status == ATTN_OK && tokens.count > 0)
    status = attn_decoding_follow(decoding, tokens.ids, tokens.count, message);
  for (int64_t i = 0; i < tokens.count && !status; ++i)
    status = attn_decoding_add(decoding, tokens.ids[i], &part, NULL, message);
  if (!status)
    status = attn_decoding_finish(decoding, &part, NULL, message);
  attn_message_free(decoded);
  if (expected.ids)
    attn_tokens_free(&tokens);
  else
    expected = tokens;
  attn_decoding_destroy(decoding);
  attn_tokenizer_destroy(tokenizer);
  return status;
}

int main(int argc, char **argv) {
  for (int i = 1; i < argc; ++i) {
    static char bytes[1 << 20];
    FILE *file = fopen(argv[i], "rb");
    size_t size = file ? fread(bytes, 1, sizeof bytes, file) : 0;
    if (file)
      fclose(file);
    char *message = NULL;
    if (once(bytes, size, &message)) {
      printf("%s: %s\n", argv[i], message ? message : "no memory");
      return 1;
    }
    for (long n = 0;; ++n) {
      left = n;
      hasFailed = 0;
      attn_status status = once(bytes, size, &message);
      left = -1;
      if (!hasFailed) {
        printf("%s: %ld allocations, %s\n", argv[i], n, status ? message : "ok");
        attn_message_free(message);
        attn_tokens_free(&expected);
        if (status)
          return 1;
        break;
      }
      /* pcre2 goes on without machine code where memory for it is lacking. */
      if (status != ATTN_OK &&
          (status != ATTN_OUT_OF_MEMORY || (message && !strstr(message, "R0401")))) {
        printf("%s: allocation %ld failed, and the answer is %s\n", argv[i], n,
               message ? message : "nothing");
        return 1;
      }
      attn_message_free(message);
    }
  }
  return 0;
}
