/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * grammar_driver TOKENIZER STOP: makes grammars for twins, and lets texts follow them. STOP is the
 * token that ends texts. Standard input holds commands, a line each; those with a size are followed
 * by as many bytes:
 *
 *   grammar KIND SIZE    makes a grammar; "ok", or the message
 *   text SIZE            "1" where a text fits, token by token, else "0", and the bytes that fit
 *   walk SEED COUNT      a random text that fits, which from COUNT tokens on ends as soon as it
 * can: its size, a line's end, and the text; -1 where it does not end time SEED COUNT      the
 * same; its tokens, and the time of each mask in microseconds check SEED COUNT     the same, where
 * each mask is held against taking each token; the tokens of the text and those that were allowed,
 * or the first that is wrong forced               the tokens that have to come first
 */
#include "attn/grammar.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static attn_tokenizer *tokenizer;
static attn_vocabulary *vocabulary;
static attn_grammar *grammar;
static int32_t stop;
static uint64_t *words;
static int64_t wordCount;

static double now(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return 1e6 * (double)time.tv_sec + 1e-3 * (double)time.tv_nsec;
}

static int fail(char *message) {
  fprintf(stderr, "%s\n", message ? message : "no memory");
  attn_message_free(message);
  return 1;
}

static void print_message(char *message) {
  for (char *c = message; c && *c; ++c)
    if (*c == '\n')
      *c = ' ';
  printf("%s\n", message ? message : "no memory");
  attn_message_free(message);
}

static char *read_bytes(long size) {
  char *text = malloc((size_t)size + 1);
  if (text && fread(text, 1, (size_t)size, stdin) != (size_t)size)
    exit(fail(NULL));
  return text;
}

static int make(int kind, long size) {
  char *message = NULL, *text = read_bytes(size);
  attn_grammar_destroy(grammar);
  grammar = NULL;
  if (attn_grammar_create(vocabulary, kind, text, (size_t)size, &grammar, &message))
    print_message(message);
  else
    printf("ok\n");
  free(text);
  return 0;
}

/* Takes a text's tokens, and looks whether each is in the mask before it. */
static int follow(long size) {
  char *message = NULL, *text = read_bytes(size);
  attn_matcher *matcher = NULL;
  attn_tokens tokens = {0};
  int fits = 1;
  int64_t at = 0;
  if (attn_tokenizer_encode(tokenizer, text, (size_t)size, ATTN_TEXT_SPECIAL_AS_TEXT, &tokens,
                            &message) ||
      attn_matcher_create(grammar, &matcher, &message))
    return fail(message);
  for (; fits && at < tokens.count; ++at) {
    int32_t id = tokens.ids[at];
    if (attn_matcher_mask(matcher, words, wordCount, &message))
      return fail(message);
    int allowed = (int)(words[id >> 6] >> (id & 63) & 1);
    fits = attn_matcher_accept(matcher, id, &message) == ATTN_OK;
    attn_message_free(message);
    message = NULL;
    if (fits != allowed) {
      fprintf(stderr, "token %d: the mask says %d\n", id, allowed);
      return 1;
    }
  }
  printf("%d %lld\n", fits && attn_matcher_is_complete(matcher),
         (long long)(fits ? size : tokens.begins[at - 1]));
  attn_matcher_destroy(matcher);
  attn_tokens_free(&tokens);
  free(text);
  return 0;
}

static uint64_t state;
static uint32_t draw(void) {
  state = state * 6364136223846793005u + 1442695040888963407u;
  return (uint32_t)(state >> 33);
}

/* Whether a token helps a text of JSON to its end: the less, the better. */
static int rank(int32_t id) {
  size_t size = 0;
  const char *token = attn_tokenizer_token(tokenizer, id, &size);
  if (id == stop)
    return 0;
  if (size == 1 && strchr("}]\"", *token))
    return 1;
  return size == 1 ? 2 : 3;
}

static int32_t choose(int ends) {
  int64_t count = 0, best = 9;
  int32_t chosen = -1;
  for (int64_t i = 0; i < wordCount; ++i)
    for (uint64_t word = words[i]; word; word &= word - 1) {
      int32_t id = (int32_t)(64 * i + __builtin_ctzll(word));
      int64_t order = ends ? rank(id) : 0;
      if (order > best)
        continue;
      count = order < best ? 1 : count + 1;
      best = order;
      if (draw() % (uint32_t)count == 0)
        chosen = id;
    }
  return chosen;
}

/* Whether a mask says of each token whether it can be taken; -1, or the first of which it does not.
 */
static int32_t find_wrong(const attn_matcher *matcher, long *allowed) {
  for (int32_t id = 0; id < attn_tokenizer_size(tokenizer); ++id) {
    char *message = NULL;
    attn_matcher *copy = NULL;
    if (attn_matcher_copy(matcher, &copy, &message))
      exit(fail(message));
    int is = attn_matcher_accept(copy, id, &message) == ATTN_OK;
    attn_message_free(message);
    attn_matcher_destroy(copy);
    if (is != (int)(words[id >> 6] >> (id & 63) & 1))
      return id;
    *allowed += is;
  }
  return -1;
}

static int check(long seed, long count) {
  char *message = NULL;
  attn_matcher *matcher = NULL;
  long taken = 0, allowed = 0;
  int32_t wrong = -1;
  state = (uint64_t)seed * 77 + 1;
  if (attn_matcher_create(grammar, &matcher, &message))
    return fail(message);
  for (; taken < count && wrong < 0; ++taken) {
    if (attn_matcher_mask(matcher, words, wordCount, &message))
      return fail(message);
    wrong = find_wrong(matcher, &allowed);
    int32_t id = choose(draw() % 6 == 0);
    if (id < 0 || id == stop)
      break;
    if (attn_matcher_accept(matcher, id, &message))
      return fail(message);
  }
  if (wrong >= 0)
    printf("behind %ld tokens, the mask is wrong of %d\n", taken, wrong);
  else
    printf("%ld %ld\n", taken, allowed);
  attn_matcher_destroy(matcher);
  return 0;
}

static int walk(long seed, long count, int isTimed) {
  char *message = NULL, *text = NULL;
  attn_matcher *matcher = NULL;
  long most = count + 500, size = 0;
  int32_t *ids = malloc(sizeof *ids * (size_t)most);
  double *times = malloc(sizeof *times * (size_t)most);
  state = (uint64_t)seed * 77 + 1;
  if (attn_matcher_create(grammar, &matcher, &message))
    return fail(message);
  for (; size < most; ++size) {
    double begin = now();
    if (attn_matcher_mask(matcher, words, wordCount, &message))
      return fail(message);
    times[size] = now() - begin;
    /* Now and then the end of what is open is preferred, so that texts have all parts. */
    int32_t id = choose(size >= count || draw() % 3 == 0);
    if (id < 0) {
      fprintf(stderr, "nothing is allowed behind %ld tokens\n", size);
      return 1;
    }
    if (attn_matcher_accept(matcher, id, &message))
      return fail(message);
    if (id == stop)
      break;
    ids[size] = id;
  }
  if (size == most) {
    printf("-1\n");
  } else if (isTimed) {
    printf("%ld", size);
    for (long i = 0; i < size; ++i)
      printf(" %.2f", times[i]);
    printf("\n");
  } else {
    size_t bytes = 0;
    if (attn_tokenizer_decode(tokenizer, ids, size, 0, &text, &bytes, &message))
      return fail(message);
    printf("%zu\n", bytes);
    fwrite(text, 1, bytes, stdout);
    attn_message_free(text);
  }
  attn_matcher_destroy(matcher);
  free(ids);
  free(times);
  return 0;
}

static int forced(void) {
  char *message = NULL;
  attn_matcher *matcher = NULL;
  int32_t ids[256];
  int64_t count = 0;
  if (attn_matcher_create(grammar, &matcher, &message) ||
      attn_matcher_forced(matcher, ids, 256, &count, &message))
    return fail(message);
  for (int64_t i = 0; i < count; ++i)
    printf("%d ", ids[i]);
  printf("\n");
  attn_matcher_destroy(matcher);
  return 0;
}

int main(int argc, char **argv) {
  char *message = NULL, command[16];
  if (argc != 3 || attn_tokenizer_open(argv[1], &tokenizer, &message))
    return fail(message);
  stop = atoi(argv[2]);
  double begin = now();
  if (attn_vocabulary_create(tokenizer, &stop, 1, &vocabulary, &message))
    return fail(message);
  if (getenv("TIME"))
    fprintf(stderr, "vocabulary: %.1f ms\n", 1e-3 * (now() - begin));
  wordCount = attn_vocabulary_words(vocabulary);
  words = malloc(sizeof *words * (size_t)wordCount);
  int result = 0;
  while (!result && scanf("%15s", command) == 1) {
    long first = 0, second = 0;
    int needed = strcmp(command, "text") ? strcmp(command, "forced") ? 2 : 0 : 1;
    if (needed && scanf("%ld", &first) != 1)
      return fail(NULL);
    if (needed == 2 && scanf("%ld", &second) != 1)
      return fail(NULL);
    if (getchar() != '\n')
      return fail(NULL);
    if (!strcmp(command, "grammar"))
      result = make((int)first, second);
    else if (!grammar)
      result = fail(NULL);
    else if (!strcmp(command, "text"))
      result = follow(first);
    else if (!strcmp(command, "forced"))
      result = forced();
    else if (!strcmp(command, "check"))
      result = check(first, second);
    else
      result = walk(first, second, !strcmp(command, "time"));
    fflush(stdout);
  }
  attn_grammar_destroy(grammar);
  attn_vocabulary_destroy(vocabulary);
  attn_tokenizer_destroy(tokenizer);
  free(words);
  return result;
}
