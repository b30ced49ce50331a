// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The C API of tokenizers.
#include "text/Decoding.h"
#include "text/Handle.h"
#include <cstdlib>

using namespace attn;

/// What text.h calls a decoding.
struct attn_decoding {
  Decoding decoding;
};

static attn_status nullPointer(const char *function, Error &error) {
  return error.set(ATTN_INVALID_ARGUMENT, "R0101", "%s: null pointer", function);
}

/// Makes a tokenizer, and hands it over where `open` succeeds.
template <typename Open>
static attn_status openWith(attn_tokenizer **result, char **message, Open open) {
  Error error;
  auto *made = create<attn_tokenizer>();
  if (!made)
    error.outOfMemory("a tokenizer");
  else
    open(made->tokenizer, error);
  if (error.status == ATTN_OK)
    *result = made;
  else
    dispose(made);
  return error.report(message);
}

extern "C" attn_status attn_tokenizer_open(const char *path, attn_tokenizer **tokenizer,
                                           char **message) {
  Error error;
  if (!path || !tokenizer) {
    nullPointer("attn_tokenizer_open", error);
    return error.report(message);
  }
  return openWith(tokenizer, message,
                  [&](Tokenizer &made, Error &why) { return made.openPath(path, why); });
}

extern "C" attn_status attn_tokenizer_open_memory(const void *data, size_t size,
                                                  attn_tokenizer **tokenizer, char **message) {
  Error error;
  if (!data || !tokenizer) {
    nullPointer("attn_tokenizer_open_memory", error);
    return error.report(message);
  }
  return openWith(tokenizer, message, [&](Tokenizer &made, Error &why) {
    return made.openMemory("memory", Slice(static_cast<const char *>(data), size), why);
  });
}

extern "C" void attn_tokenizer_destroy(attn_tokenizer *tokenizer) { dispose(tokenizer); }

extern "C" int32_t attn_tokenizer_size(const attn_tokenizer *tokenizer) {
  return tokenizer ? int32_t(tokenizer->tokenizer.size()) : 0;
}

extern "C" int32_t attn_tokenizer_find(const attn_tokenizer *tokenizer, const char *token,
                                       size_t size) {
  return tokenizer && token ? tokenizer->tokenizer.find(Slice(token, size)) : -1;
}

extern "C" const char *attn_tokenizer_token(const attn_tokenizer *tokenizer, int32_t id,
                                            size_t *size) {
  Slice token = tokenizer ? tokenizer->tokenizer.token(id) : Slice();
  if (size)
    *size = token.size;
  return token.data;
}

extern "C" int32_t attn_tokenizer_is_special(const attn_tokenizer *tokenizer, int32_t id) {
  return tokenizer && tokenizer->tokenizer.added.isSpecial(id);
}

/// An array on malloc, whose elements are `at(i)`.
template <typename T, typename At> static bool fill(T *&to, size_t count, At at) {
  to = static_cast<T *>(malloc(count ? count * sizeof(T) : 1));
  for (size_t i = 0; to && i < count; ++i)
    to[i] = T(at(i));
  return to != nullptr;
}

static attn_status encode(const attn_tokenizer *tokenizer, Slice first, const Slice *second,
                          int32_t flags, attn_tokens *tokens, Error &error) {
  if (!tokenizer || !tokens || (!first.data && first.size) ||
      (second && !second->data && second->size))
    return nullPointer("attn_tokenizer_encode", error);
  if (flags &
      ~(ATTN_TEXT_ADD_SPECIAL | ATTN_TEXT_SPECIAL_AS_TEXT | ATTN_TEXT_TRUNCATE | ATTN_TEXT_PAD))
    return error.set(ATTN_INVALID_ARGUMENT, "R0101",
                     "attn_tokenizer_encode: flags %d; known are 1, "
                     "2, 4 and 8, added up",
                     int(flags));
  Encoding encoding;
  if (tokenizer->tokenizer.encode(first, second, flags, encoding, error))
    return error.status;
  attn_tokens made = {};
  size_t count = encoding.size();
  made.count = int64_t(count);
  bool isGood = fill(made.ids, count, [&](size_t i) { return encoding.ids[i]; }) &&
                fill(made.types, count, [&](size_t i) { return encoding.types[i]; }) &&
                fill(made.begins, count, [&](size_t i) { return encoding.ranges[i].begin; }) &&
                fill(made.ends, count, [&](size_t i) { return encoding.ranges[i].end; }) &&
                fill(made.origins, count, [&](size_t i) { return encoding.origins[i]; });
  if (isGood)
    *tokens = made;
  else
    attn_tokens_free(&made);
  return isGood ? ATTN_OK : error.outOfMemory("the tokens of a text");
}

extern "C" attn_status attn_tokenizer_encode(const attn_tokenizer *tokenizer, const char *text,
                                             size_t size, int32_t flags, attn_tokens *tokens,
                                             char **message) {
  Error error;
  encode(tokenizer, Slice(text, size), nullptr, flags, tokens, error);
  return error.report(message);
}

extern "C" attn_status attn_tokenizer_encode_pair(const attn_tokenizer *tokenizer,
                                                  const char *first, size_t firstSize,
                                                  const char *second, size_t secondSize,
                                                  int32_t flags, attn_tokens *tokens,
                                                  char **message) {
  Error error;
  Slice other(second, secondSize);
  encode(tokenizer, Slice(first, firstSize), &other, flags, tokens, error);
  return error.report(message);
}

extern "C" void attn_tokens_free(attn_tokens *tokens) {
  if (!tokens)
    return;
  free(tokens->ids);
  free(tokens->types);
  free(tokens->begins);
  free(tokens->ends);
  free(tokens->origins);
  *tokens = {};
}

static attn_status decode(const attn_tokenizer *tokenizer, const int32_t *ids, int64_t count,
                          bool skipsSpecial, char **text, size_t *size, Error &error) {
  if (!tokenizer || !text || (!ids && count) || count < 0)
    return nullPointer("attn_tokenizer_decode", error);
  Vector<char> bytes;
  if (tokenizer->tokenizer.decode(ids, size_t(count), skipsSpecial, true, bytes, error))
    return error.status;
  auto *copy = static_cast<char *>(malloc(bytes.size() + 1));
  if (!copy)
    return error.outOfMemory("a text");
  if (!bytes.empty())
    memcpy(copy, bytes.data(), bytes.size());
  copy[bytes.size()] = 0;
  *text = copy;
  if (size)
    *size = bytes.size();
  return ATTN_OK;
}

extern "C" attn_status attn_tokenizer_decode(const attn_tokenizer *tokenizer, const int32_t *ids,
                                             int64_t count, int32_t skipsSpecial, char **text,
                                             size_t *size, char **message) {
  Error error;
  decode(tokenizer, ids, count, skipsSpecial != 0, text, size, error);
  return error.report(message);
}

extern "C" attn_status attn_decoding_create(const attn_tokenizer *tokenizer, int32_t skipsSpecial,
                                            attn_decoding **decoding, char **message) {
  Error error;
  if (!tokenizer || !decoding) {
    nullPointer("attn_decoding_create", error);
    return error.report(message);
  }
  void *memory = malloc(sizeof(attn_decoding));
  if (memory)
    *decoding = new (memory) attn_decoding{Decoding(tokenizer->tokenizer, skipsSpecial != 0)};
  else
    error.outOfMemory("a decoding");
  return error.report(message);
}

/// Calls `step`, and hands the text over.
template <typename Step>
static attn_status stepDecoding(attn_decoding *decoding, const char **text, size_t *size,
                                char **message, Step step) {
  Error error;
  if (!decoding || !text)
    nullPointer("attn_decoding", error);
  else if (step(decoding->decoding, error) == ATTN_OK) {
    *text = decoding->decoding.text().data;
    if (size)
      *size = decoding->decoding.text().size;
  }
  return error.report(message);
}

extern "C" attn_status attn_decoding_follow(attn_decoding *decoding, const int32_t *ids,
                                            int64_t count, char **message) {
  Error error;
  if (!decoding || !ids)
    nullPointer("attn_decoding_follow", error);
  else
    decoding->decoding.follow(ids, count, error);
  return error.report(message);
}

extern "C" attn_status attn_decoding_add(attn_decoding *decoding, int32_t id, const char **text,
                                         size_t *size, char **message) {
  return stepDecoding(decoding, text, size, message,
                      [&](Decoding &self, Error &error) { return self.add(id, error); });
}

extern "C" attn_status attn_decoding_finish(attn_decoding *decoding, const char **text,
                                            size_t *size, char **message) {
  return stepDecoding(decoding, text, size, message,
                      [](Decoding &self, Error &error) { return self.finish(error); });
}

extern "C" void attn_decoding_destroy(attn_decoding *decoding) { dispose(decoding); }
