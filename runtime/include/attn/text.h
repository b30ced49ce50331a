/* SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
 *
 * The C API of text: open a tokenizer, turn texts into ids and ids into text; let a model go on
 * from a text. In libattn_text.a, and in shared libraries of models whose programs take texts. What
 * needs no model is in libattn_text.so, too.
 *
 *   attn_tokenizer *tokenizer = NULL;
 *   attn_tokens tokens = {0};
 *   char *message = NULL;
 *   if (attn_tokenizer_open("tokenizer.json", &tokenizer, &message) ||
 *       attn_tokenizer_encode(tokenizer, text, strlen(text), ATTN_TEXT_ADD_SPECIAL, &tokens,
 *                             &message))
 *     fprintf(stderr, "%s\n", message);
 *
 * Ownership, errors and messages as in attn.h. A tokenizer may be shared by threads: all functions
 * but destroy only read it. A decoding serves one thread at a time, and so does an attn_text.
 */
#pragma once

#include "attn/attn.h"

#ifdef __cplusplus
extern "C" {
#endif

/* A tokenizer, and a text that is decoded token by token. */
typedef struct attn_tokenizer attn_tokenizer;
typedef struct attn_decoding attn_decoding;

/* Opens a tokenizer: a folder as Hugging Face's library saves them, with or without a
 * tokenizer.json; or one file, which is read by itself: a tokenizer.json, a vocab.txt (WordPiece),
 * a .model of SentencePiece, a GGUF file with a vocabulary, a file of tiktoken, a tokenizer of
 * llama2.c. What a file is, its bytes say, not its name. ATTN_IO, ATTN_BAD_INPUT (a damaged file,
 * a component or a class that is not known: its name and place are in the message),
 * ATTN_OUT_OF_MEMORY, ATTN_INVALID_ARGUMENT. */
ATTN_API attn_status attn_tokenizer_open(const char *path, attn_tokenizer **tokenizer,
                                         char **message);

/* The same from the bytes of a file, which are not needed afterwards. */
ATTN_API attn_status attn_tokenizer_open_memory(const void *data, size_t size,
                                                attn_tokenizer **tokenizer, char **message);

/* Destroys a tokenizer, after its decodings. NULL is allowed. */
ATTN_API void attn_tokenizer_destroy(attn_tokenizer *tokenizer);

/* One more than the largest id; ids below may have no token. */
ATTN_API int32_t attn_tokenizer_size(const attn_tokenizer *tokenizer);

/* The id of a token, by its bytes as the vocabulary has them, or -1. */
ATTN_API int32_t attn_tokenizer_find(const attn_tokenizer *tokenizer, const char *token,
                                     size_t size);

/* The bytes of a token as the vocabulary has them ("\xc4\xa0the", "<0x0A>"), which belong to the
 * tokenizer; NULL where there is none. `size` may be NULL: a NUL follows the bytes. */
ATTN_API const char *attn_tokenizer_token(const attn_tokenizer *tokenizer, int32_t id,
                                          size_t *size);

/* Whether a token is special: one that stands for no text, such as the end. */
ATTN_API int32_t attn_tokenizer_is_special(const attn_tokenizer *tokenizer, int32_t id);

/* Flags of encoding, added up. */
enum {
  ATTN_TEXT_ADD_SPECIAL = 1,     /* the special tokens that the tokenizer puts around texts */
  ATTN_TEXT_SPECIAL_AS_TEXT = 2, /* "<s>" in a text is four characters, not a token */
  ATTN_TEXT_TRUNCATE = 4,        /* cut to the length that a tokenizer.json says */
  ATTN_TEXT_PAD = 8              /* filled up as a tokenizer.json says */
};

/* Where a token comes from. Of padding, a model that takes a mask of the tokens that count gets 0.
 */
enum {
  ATTN_TOKEN_TEXT = 0,    /* the text; a special token that the text had, too */
  ATTN_TOKEN_SPECIAL = 1, /* ATTN_TEXT_ADD_SPECIAL */
  ATTN_TOKEN_PADDING = 2  /* ATTN_TEXT_PAD */
};

/* The tokens of a text: arrays of `count`. `begins` and `ends` are offsets in bytes of the text
 * that a token stands for (of two texts, the one that it is of); both 0 where `origins` is not
 * ATTN_TOKEN_TEXT. `types` are what models for two texts take as `token_type_ids`. */
typedef struct {
  int64_t count;
  int32_t *ids, *types;
  int64_t *begins, *ends;
  uint8_t *origins;
} attn_tokens;

/* Encodes a text of `size` bytes. What is not UTF-8 in it counts as U+FFFD. ATTN_BAD_INPUT (a text
 * that the vocabulary has no tokens for, or above 2^31 - 1 bytes), ATTN_OUT_OF_MEMORY,
 * ATTN_INVALID_ARGUMENT. */
ATTN_API attn_status attn_tokenizer_encode(const attn_tokenizer *tokenizer, const char *text,
                                           size_t size, int32_t flags, attn_tokens *tokens,
                                           char **message);

/* The same for two texts that belong together: a question and a passage. */
ATTN_API attn_status attn_tokenizer_encode_pair(const attn_tokenizer *tokenizer, const char *first,
                                                size_t firstSize, const char *second,
                                                size_t secondSize, int32_t flags,
                                                attn_tokens *tokens, char **message);

/* Frees the arrays, and zeroes the struct. */
ATTN_API void attn_tokens_free(attn_tokens *tokens);

/* Decodes ids to text: valid UTF-8 with a NUL behind it, freed by attn_message_free. `size` may be
 * NULL. Special tokens are left out where `skipsSpecial`. An id without a token is no text: a model
 * may have more rows than its vocabulary has tokens. ATTN_BAD_INPUT: an id below 0, or a decoder
 * that makes too much of the tokens. */
ATTN_API attn_status attn_tokenizer_decode(const attn_tokenizer *tokenizer, const int32_t *ids,
                                           int64_t count, int32_t skipsSpecial, char **text,
                                           size_t *size, char **message);

/* Decodes token by token, as they are generated. */
ATTN_API attn_status attn_decoding_create(const attn_tokenizer *tokenizer, int32_t skipsSpecial,
                                          attn_decoding **decoding, char **message);

/* Lets what is decoded follow tokens whose text has been shown, as that of a prompt: what comes is
 * what the text of all becomes longer by, so that a space between them is not lost. */
ATTN_API attn_status attn_decoding_follow(attn_decoding *decoding, const int32_t *ids,
                                          int64_t count, char **message);

/* Takes a token, and hands over the text that it completes: valid UTF-8 with a NUL behind it, which
 * belongs to the decoding until its next call. It is empty while a character is not complete.
 * `size` may be NULL. Errors leave the decoding as it was. */
ATTN_API attn_status attn_decoding_add(attn_decoding *decoding, int32_t id, const char **text,
                                       size_t *size, char **message);

/* Hands over what was held back, U+FFFD for what is no character, and begins anew. */
ATTN_API attn_status attn_decoding_finish(attn_decoding *decoding, const char **text, size_t *size,
                                          char **message);

/* Destroys a decoding. NULL is allowed. */
ATTN_API void attn_decoding_destroy(attn_decoding *decoding);

/* A template that makes one text of the turns of a chat, in the part of Jinja's language that
 * published ones are written in: set, if, for, macros, namespaces, filters, tests, methods of
 * strings and mappings. Read-only once it is open: threads may share it. */
typedef struct attn_chat_template attn_chat_template;

/* Opens the template of a folder, or of the folder that a file is in: `chat_template.jinja`, else
 * what `chat_template` in `tokenizer_config.json`, or else in `chat_template.json`, says. Of a list
 * of named templates it takes the one called `which`; NULL: "default", or the only one. The special
 * tokens of the config
 * (`bos_token`, ...) are variables. Of a GGUF file it is in the metadata. ATTN_NOT_FOUND where
 * there is none; ATTN_BAD_INPUT: what is not read, by line and column in the template; ATTN_IO,
 * ATTN_OUT_OF_MEMORY, ATTN_INVALID_ARGUMENT. */
ATTN_API attn_status attn_chat_template_open(const char *path, const char *which,
                                             attn_chat_template **chatTemplate, char **message);

/* The same from the text of a template or of a tokenizer_config.json, of `size` bytes, which are
 * not needed afterwards. */
ATTN_API attn_status attn_chat_template_open_memory(const char *source, size_t size,
                                                    attn_chat_template **chatTemplate,
                                                    char **message);

/* Destroys a template. NULL is allowed. */
ATTN_API void attn_chat_template_destroy(attn_chat_template *chatTemplate);

/* Makes the text of variables: a JSON object of `size` bytes, with `messages`, a list of objects
 * with `role` and `content`, and what else the template takes: `add_generation_prompt`, `tools`.
 * The text has a NUL behind it and is freed by attn_message_free; `textSize` may be NULL.
 * ATTN_BAD_INPUT: variables that are no JSON; a name that is not defined, or what the template
 * itself refuses, by line and column; more steps or memory than templates may take (2e7, 256 MB).
 * ATTN_OUT_OF_MEMORY, ATTN_INVALID_ARGUMENT. */
ATTN_API attn_status attn_chat_template_render(const attn_chat_template *chatTemplate,
                                               const char *variables, size_t size, char **text,
                                               size_t *textSize, char **message);

/* A context whose entry generates, with a tokenizer: text in, text out. It knows which tokens the
 * caches hold: of a prompt that begins with them only the others are computed. */
typedef struct attn_text attn_text;

/* Makes one for entry number `entry`, which takes rows of tokens and, perhaps, `lengths`. Context
 * and tokenizer stay the caller's, and live longer; the context serves nothing else meanwhile.
 * ATTN_INVALID_ARGUMENT: a null pointer, an entry that does not exist, generates nothing or takes
 * something else; ATTN_OUT_OF_MEMORY. */
ATTN_API attn_status attn_text_create(attn_context *context, int32_t entry,
                                      const attn_tokenizer *tokenizer, attn_text **text,
                                      char **message);

/* Destroys it. NULL is allowed. */
ATTN_API void attn_text_destroy(attn_text *text);

/* A token beside others: natural logarithms of probabilities by the model's scores, before rules
 * and sampling change them. The `count` likeliest tokens come first likeliest first. */
typedef struct {
  int32_t token;
  float logprob;
  int32_t count;
  const int32_t *tokens;
  const float *logprobs;
} attn_logprobs;

/* How a text goes on. Start from attn_text_options_default. */
typedef struct {
  attn_generation numbers; /* onTokens is not looked at */
  /* Texts before which the written one ends, wherever tokens begin: `stopCount` strings. */
  int32_t stopCount;
  const char *const *stops;
  int32_t flags; /* of encoding the prompt: ATTN_TEXT_ADD_SPECIAL, ATTN_TEXT_SPECIAL_AS_TEXT */
  /* Whether of a prompt that the context has no room for the beginning is left out, behind the
   * special tokens in front. So many tokens stay that the limit's fit behind them, at least as many
   * as half of the context. Else such a prompt is an error. */
  int32_t truncates;
  /* Where it is not NULL: takes each piece of the text as soon as it is known, `size` bytes of
   * valid UTF-8 that belong to the caller no longer than this call; returns whether to go on. What
   * may be the beginning of a stop is held back until more is known. With several beams it takes
   * the text at the end. */
  int32_t (*onText)(void *user, const char *text, size_t size);
  void *user;
  /* Special tokens that are written as text, which the others are not: the marks that a model puts
   * around what it thinks and around calls of tools. `shownCount` strings; one that is no special
   * token has no effect. */
  int32_t shownCount;
  const char *const *shown;
  /* Where it is not NULL: the text follows a grammar (attn/grammar.h) from where the matcher is,
   * which takes its tokens. The vocabulary's stops are those of the numbers. Not with beams. */
  struct attn_matcher *matcher;
  /* Where it is not NULL: is told each token before its piece of text, with `logprobs` likeliest
   * ones, at most 100. Only of texts that a scheduler goes on from (attn_text_schedule). */
  void (*onLogprobs)(void *user, const attn_logprobs *chosen);
  int32_t logprobs;
} attn_text_options;

/* The numbers of the spec, no stops, special tokens added. Errors as attn_generation_default. */
ATTN_API attn_status attn_text_options_default(const attn_text *text, attn_text_options *options,
                                               char **message);

/* A picture as an entry takes it: `count` tensors f32 [C, height, width], one after the other, of
 * which there are several where the spec cuts pictures into patches or tiles. Their grid has `rows`
 * x `columns` of them, whose squares of `merged` x `merged` follow each other; behind several tiles
 * stands the whole picture. */
typedef struct {
  float *values;
  int64_t count, rows, columns, merged;
} attn_picture;

/* The same as attn_image_load, of a picture whose number of patches its size says. `picture` is
 * freed by attn_picture_free. ATTN_BAD_INPUT also where one side is 200 times as long as the
 * other. */
ATTN_API attn_status attn_picture_read(const attn_model *model, int32_t entry, int32_t input,
                                       const char *path, attn_picture *picture, char **message);

/* Frees the tensors, and zeroes the struct. */
ATTN_API void attn_picture_free(attn_picture *picture);

/* Adds a picture, a PNG or JPEG file, to those that prompts from now on have, in their order. A
 * prompt has each of them in the place of a mark, which the spec names (`image input ... prompt`);
 * a prompt without a mark begins with all of them. Only in artifacts that take an image. Needs no
 * weights. ATTN_INVALID_ARGUMENT: a model that takes no pictures in prompts, a null pointer; else
 * errors as attn_picture_read. */
ATTN_API attn_status attn_text_picture(attn_text *text, const char *path, char **message);

/* Forgets the pictures. NULL is allowed. */
ATTN_API void attn_text_clear_pictures(attn_text *text);

/* Takes the text that is to be gone on from: `size` bytes, not needed afterwards. Needs no weights.
 * ATTN_BAD_INPUT: a prompt without tokens, or with more than there is room for (both numbers are in
 * the message), another number of marks than of pictures, and what attn_tokenizer_encode says;
 * ATTN_INVALID_ARGUMENT; ATTN_OUT_OF_MEMORY. */
ATTN_API attn_status attn_text_prompt(attn_text *text, const char *prompt, size_t size,
                                      const attn_text_options *options, char **message);

/* The same of a prompt that is tokens already: `count` ids, not needed afterwards, as they are. The
 * options' flags are not looked at. ATTN_BAD_INPUT also: an id below 0; one that the model has no
 * row for is an error of attn_text_generate. */
ATTN_API attn_status attn_text_prompt_tokens(attn_text *text, const int32_t *ids, int64_t count,
                                             const attn_text_options *options, char **message);

/* Why a text ended. */
enum {
  ATTN_TEXT_ENDED_BY_TOKEN = 0,  /* a token that ends rows, by the numbers */
  ATTN_TEXT_ENDED_BY_LIMIT = 1,  /* as many tokens as the limit says */
  ATTN_TEXT_ENDED_BY_STOP = 2,   /* one of the texts */
  ATTN_TEXT_ENDED_BY_CALLER = 3, /* onText has returned 0 */
  ATTN_TEXT_ENDED_BY_CONTEXT = 4 /* the context is full */
};

/* What became of it. Tokens: of the prompt those that the caches held already (`kept`), the others
 * (`read`), and those that were chosen (`written`); seconds up to the first token and from there.
 */
typedef struct {
  int64_t kept, read, written;
  double readSeconds, writeSeconds;
  int32_t ending;
} attn_text_result;

/* Goes on from the prompt, at most as far as there is room. The caches hold prompt and text
 * afterwards. Errors as attn_generate. */
ATTN_API attn_status attn_text_generate(attn_text *text, const attn_text_options *options,
                                        attn_text_result *result, char **message);

/* The turns of a chat, and a model that answers. The caches hold what has been said: an answer
 * computes what is new alone. */
typedef struct attn_chat attn_chat;

/* Makes an empty one. Text and template stay the caller's, and live longer. ATTN_OUT_OF_MEMORY,
 * ATTN_INVALID_ARGUMENT. */
ATTN_API attn_status attn_chat_create(attn_text *text, const attn_chat_template *chatTemplate,
                                      attn_chat **chat, char **message);

/* Destroys it. NULL is allowed. */
ATTN_API void attn_chat_destroy(attn_chat *chat);

/* Adds a turn: `role` is a string such as "system" or "user", the content has `size` bytes, which
 * are not needed afterwards. What is not UTF-8 in it counts as U+FFFD. ATTN_OUT_OF_MEMORY,
 * ATTN_INVALID_ARGUMENT. */
ATTN_API attn_status attn_chat_add(attn_chat *chat, const char *role, const char *content,
                                   size_t size, char **message);

/* Adds a picture to the turn that is added next, as attn_text_picture adds one: templates take it
 * as `{"type": "image"}` in front of the content. Errors as there. */
ATTN_API attn_status attn_chat_picture(attn_chat *chat, const char *path, char **message);

/* Goes on from what the template makes of all turns, and adds that as a turn of "assistant". The
 * options' flags are not looked at. Errors as attn_chat_template_render, attn_text_prompt and
 * attn_text_generate; the turns are as they were then. */
ATTN_API attn_status attn_chat_answer(attn_chat *chat, const attn_text_options *options,
                                      attn_text_result *result, char **message);

/* The vector of a text, by an entry of a sentence encoder: one that takes tokens, i32[B, T],
 * perhaps which of two texts each is of, and their number, i32[B], and whose first output is f32[B,
 * D]. Of a text with more tokens than the entry takes the end is left out where `truncates`.
 * *values becomes `count` floats, freed by free(). ATTN_BAD_INPUT: a text without tokens, or with
 * too many; ATTN_INVALID_ARGUMENT: another entry, a null pointer; else errors as attn_run. */
ATTN_API attn_status attn_text_embed(attn_context *context, int32_t entry,
                                     const attn_tokenizer *tokenizer, const char *text, size_t size,
                                     int32_t truncates, float **values, int64_t *count,
                                     char **message);

/* The tokens of a text for such an entry, or of two that belong together where `pair` is not NULL:
 * with special tokens, at least one, and as many as the entry takes, cut at the end where
 * `truncates`. `tokens` becomes theirs, freed by attn_tokens_free. Needs no weights. Errors as
 * attn_text_embed. */
ATTN_API attn_status attn_text_tokens(const attn_model *model, int32_t entry,
                                      const attn_tokenizer *tokenizer, const char *text,
                                      size_t size, const char *pair, size_t pairSize,
                                      int32_t truncates, attn_tokens *tokens, char **message);

/* The first output of such an entry for `count` texts that have the same number of tokens, so that
 * none is padded: *values becomes rows of `width` floats, freed by free(), each of which has the
 * bits of its text alone. `count` is at most what the entry takes. Errors as attn_run. */
ATTN_API attn_status attn_text_rows(attn_context *context, int32_t entry,
                                    const attn_tokens *const *texts, int64_t count, float **values,
                                    int64_t *width, char **message);

/* How a recording is written down. Start from attn_speech_options_default. */
typedef struct {
  attn_generation numbers; /* forced tokens may say language and task */
  /* "de", as in the token `<|de|>`, and "transcribe" or "translate". NULL: what the numbers force;
   * else the language that the model hears in the first 30 s, and "transcribe". */
  const char *language, *task;
  int32_t timestamps; /* whether the model says when what is spoken */
  /* Takes a piece of text, valid UTF-8 with a NUL behind it, spoken between two times in seconds: a
   * segment, or what 30 s have where there are no timestamps. Returns whether to go on. */
  int32_t (*onText)(void *user, double begin, double end, const char *text, size_t size);
  void *user;
} attn_speech_options;

/* What the spec says of an entry. Errors as attn_generation_default. */
ATTN_API attn_status attn_speech_options_default(const attn_model *model, int32_t entry,
                                                 attn_speech_options *options, char **message);

/* Writes down a recording of `frames` samples at `mel`, of attn_sound_read, by an entry that gives
 * first `tokens`, i32[B, T], of the samples of a sound and perhaps their `lengths`: a token for
 * each frame, -1 behind the end. The tokenizer makes one of neighbours that are the same and leaves
 * its padding token out. Its text is one piece, and the numbers have no effect. Or writes one down
 * by an entry that generates from a spectrogram as Whisper's do: `mel` is f32 [bands, frames +
 * window] of attn_sound_read. It is heard in windows of the entry's frames; with timestamps, which
 * follow Whisper's rules (they come in pairs, in order, the first by 1 s, and one wherever all of
 * them together are likelier than each other token), a window begins where the last whole segment
 * before ends. ATTN_INVALID_ARGUMENT: another entry, a tokenizer without the language, the task or
 * timestamps, beams; else errors as attn_generate. */
ATTN_API attn_status attn_speech_transcribe(attn_context *context, int32_t entry,
                                            const attn_tokenizer *tokenizer, const float *mel,
                                            int64_t frames, const attn_speech_options *options,
                                            char **message);

#ifdef __cplusplus
}
#endif
