/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The C API of structured text: which tokens may come next, so that a text follows a JSON schema, a
 * regular expression or a grammar. In libattn_text.a.
 *
 *   attn_vocabulary *vocabulary = NULL; // once for a tokenizer
 *   attn_grammar *grammar = NULL;       // once for a schema
 *   attn_matcher *matcher = NULL;       // once for a text
 *   char *message = NULL;
 *   if (attn_vocabulary_create(tokenizer, &end, 1, &vocabulary, &message) ||
 *       attn_grammar_create(vocabulary, ATTN_GRAMMAR_JSON_SCHEMA, schema, strlen(schema), &grammar,
 *                           &message) ||
 *       attn_matcher_create(grammar, &matcher, &message))
 *     fprintf(stderr, "%s\n", message);
 *   // For each token: attn_matcher_mask, a choice among its tokens, attn_matcher_accept.
 *
 * Ownership, errors and messages as in attn.h. Vocabularies and grammars may be shared by threads;
 * a matcher serves one at a time. A tokenizer has to live longer than its vocabularies, these
 * longer than their grammars, and these longer than their matchers.
 */
#pragma once

#include "attn/text.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The tokens that texts are made of, as a trie; a grammar for them; a text's place in one. */
typedef struct attn_vocabulary attn_vocabulary;
typedef struct attn_grammar attn_grammar;
typedef struct attn_matcher attn_matcher;

/* What a grammar is written in: runtime/text/README.md says what of each is read. */
enum {
  ATTN_GRAMMAR_JSON_SCHEMA = 0, /* JSON schema, 2020-12 */
  ATTN_GRAMMAR_JSON_OBJECT = 1, /* any object of JSON; its text is empty */
  ATTN_GRAMMAR_REGEX = 2,       /* a regular expression that the whole text matches */
  ATTN_GRAMMAR_GBNF = 3,        /* llama.cpp's form; the text is what `root` says */
  ATTN_GRAMMAR_LARK = 4         /* Lark's form; the text is what `start` says */
};

/* Makes the vocabulary of a tokenizer. The `count` tokens of `stops` are those that end a text:
 * they are allowed where it may end, and stand for no text themselves. Other special tokens are
 * never allowed. ATTN_BAD_INPUT: a stop that is no token; a tokenizer whose tokens stand for other
 * characters beside other tokens (WordPiece, CTC). ATTN_OUT_OF_MEMORY, ATTN_INVALID_ARGUMENT. */
ATTN_API attn_status attn_vocabulary_create(const attn_tokenizer *tokenizer, const int32_t *stops,
                                            int64_t count, attn_vocabulary **vocabulary,
                                            char **message);

/* Destroys a vocabulary, after its grammars. NULL is allowed. */
ATTN_API void attn_vocabulary_destroy(attn_vocabulary *vocabulary);

/* How many words of 64 bits a mask has: one bit for each id below attn_tokenizer_size. */
ATTN_API int64_t attn_vocabulary_words(const attn_vocabulary *vocabulary);

/* Makes a grammar of `size` bytes of text, which are not needed afterwards; `kind` is one of those
 * above. ATTN_BAD_INPUT: what is not read, with its place (in a schema a JSON pointer, elsewhere
 * line and column), or a grammar that no text fits; nothing is passed over. ATTN_OUT_OF_MEMORY,
 * ATTN_INVALID_ARGUMENT. */
ATTN_API attn_status attn_grammar_create(const attn_vocabulary *vocabulary, int32_t kind,
                                         const char *text, size_t size, attn_grammar **grammar,
                                         char **message);

/* Destroys a grammar, after its matchers. NULL is allowed. */
ATTN_API void attn_grammar_destroy(attn_grammar *grammar);

/* Begins a text. ATTN_OUT_OF_MEMORY, ATTN_INVALID_ARGUMENT. */
ATTN_API attn_status attn_matcher_create(const attn_grammar *grammar, attn_matcher **matcher,
                                         char **message);

/* A second matcher at the same place: to come back to it, or for a second text. Errors as
 * attn_matcher_create. */
ATTN_API attn_status attn_matcher_copy(const attn_matcher *matcher, attn_matcher **copy,
                                       char **message);

/* Destroys a matcher. NULL is allowed. */
ATTN_API void attn_matcher_destroy(attn_matcher *matcher);

/* Says which tokens may come next: bit i % 64 of word i / 64 for the token i, and no other bits, in
 * `count` words, at least as many as attn_vocabulary_words says; those behind are set to 0.
 * ATTN_BAD_INPUT: a grammar that can be followed in too many ways at the same time.
 * ATTN_OUT_OF_MEMORY, ATTN_INVALID_ARGUMENT. */
ATTN_API attn_status attn_matcher_mask(attn_matcher *matcher, uint64_t *words, int64_t count,
                                       char **message);

/* Takes a token. ATTN_BAD_INPUT where it is not allowed: then nothing changes. Behind a stop
 * nothing is allowed. ATTN_OUT_OF_MEMORY, ATTN_INVALID_ARGUMENT. */
ATTN_API attn_status attn_matcher_accept(attn_matcher *matcher, int32_t token, char **message);

/* Whether the text may end here, or has been ended by a stop. */
ATTN_API int32_t attn_matcher_is_complete(const attn_matcher *matcher);

/* The tokens that have to come next whatever a model says, at most `capacity`, which are not taken
 * yet: those that the tokenizer makes of the characters that have to come, without the last ones,
 * which characters behind them may make others of. None where there is a choice. Errors as
 * attn_matcher_mask. */
ATTN_API attn_status attn_matcher_forced(attn_matcher *matcher, int32_t *tokens, int64_t capacity,
                                         int64_t *count, char **message);

#ifdef __cplusplus
}
#endif
