/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * text_driver TOKENIZER FLAGS: encodes texts for twins, and decodes them again. Standard input
 * holds texts, each behind a line with its size in bytes; a size of -1 -N announces N ids to
 * decode, on one line. A text with a byte 31 is two, before and behind it. For a text, one line of
 * "id:begin:end:type" for each token goes out; for ids, the
 * size of their text, a line's end, and the text. It is C, and linked by the C compiler: nothing
 * may need libstdc++. With TIME=1 in the environment it says on standard error how long opening and
 * encoding took. */
#include "attn/text.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return (double)time.tv_sec + 1e-9 * (double)time.tv_nsec;
}

static int fail(char *message) {
  fprintf(stderr, "%s\n", message ? message : "no memory");
  attn_message_free(message);
  return 1;
}

static int encode(const attn_tokenizer *tokenizer, long size, int flags, double *seconds) {
  char *text = malloc((size_t)size + 1), *message = NULL;
  attn_tokens tokens = {0};
  if (!text || fread(text, 1, (size_t)size, stdin) != (size_t)size)
    return fail(NULL);
  double begin = now();
  char *second = memchr(text, 31, (size_t)size);
  size_t first = second ? (size_t)(second - text) : (size_t)size;
  if (second ? attn_tokenizer_encode_pair(tokenizer, text, first, second + 1,
                                          (size_t)size - first - 1, flags, &tokens, &message)
             : attn_tokenizer_encode(tokenizer, text, first, flags, &tokens, &message))
    return fail(message);
  *seconds += now() - begin;
  for (int64_t i = 0; i < tokens.count; ++i)
    printf("%d:%lld:%lld:%d ", tokens.ids[i], (long long)tokens.begins[i],
           (long long)tokens.ends[i], tokens.types[i]);
  printf("\n");
  attn_tokens_free(&tokens);
  free(text);
  return 0;
}

/* Decodes at once and token by token; where the two differ, both go out. */
static int decode(const attn_tokenizer *tokenizer, long count) {
  int32_t *ids = malloc(sizeof(int32_t) * (size_t)count + 1);
  char *text = NULL, *message = NULL;
  size_t size = 0;
  for (long i = 0; ids && i < count; ++i)
    if (scanf("%d", &ids[i]) != 1)
      return fail(NULL);
  if (!ids || attn_tokenizer_decode(tokenizer, ids, count, 0, &text, &size, &message))
    return fail(message);
  printf("%zu\n", size);
  fwrite(text, 1, size, stdout);
  attn_message_free(text);
  attn_decoding *decoding = NULL;
  const char *part;
  size_t partSize;
  if (attn_decoding_create(tokenizer, 0, &decoding, &message))
    return fail(message);
  printf("\n");
  for (long i = 0; i <= count; ++i) {
    if (i < count ? attn_decoding_add(decoding, ids[i], &part, &partSize, &message)
                  : attn_decoding_finish(decoding, &part, &partSize, &message))
      return fail(message);
    printf("%zu\n", partSize);
    fwrite(part, 1, partSize, stdout);
  }
  printf("\n");
  attn_decoding_destroy(decoding);
  free(ids);
  return 0;
}

int main(int argc, char **argv) {
  attn_tokenizer *tokenizer = NULL;
  char *message = NULL;
  double begin = now(), seconds = 0;
  if (argc != 3)
    return 2;
  if (attn_tokenizer_open(argv[1], &tokenizer, &message))
    return fail(message);
  double opened = now() - begin;
  long size;
  while (scanf("%ld", &size) == 1) {
    getchar();
    if (size >= 0 ? encode(tokenizer, size, atoi(argv[2]), &seconds) : decode(tokenizer, -1 - size))
      return 1;
  }
  if (getenv("TIME"))
    fprintf(stderr, "opened in %.3f s, encoded in %.3f s\n", opened, seconds);
  attn_tokenizer_destroy(tokenizer);
  return 0;
}
