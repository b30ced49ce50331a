// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The C API of structured text.
#include "attn/grammar.h"
#include "text/Handle.h"
#include "text/grammar/FrontEnds.h"
#include "text/grammar/Matcher.h"

using namespace attn;

/// What grammar.h calls a vocabulary.
struct attn_vocabulary {
  grammar::TokenTrie trie;
};

/// What grammar.h calls a grammar.
struct attn_grammar {
  explicit attn_grammar(const grammar::TokenTrie &trie) : grammar(trie) {}
  grammar::Grammar grammar;
};

/// What grammar.h calls a matcher.
struct attn_matcher {
  explicit attn_matcher(const grammar::Grammar &grammar) : matcher(grammar), grammar(grammar) {}
  grammar::TokenMatcher matcher;
  const grammar::Grammar &grammar;
};

/// Hands over what has been made where all went well.
template <typename T>
static attn_status handOver(T *made, T **result, char **message, Error &error) {
  if (error.status == ATTN_OK)
    *result = made;
  else
    dispose(made);
  return error.report(message);
}

static attn_status refuse(const char *function, const char *why, char **message) {
  Error error;
  error.set(ATTN_INVALID_ARGUMENT, "R0101", "%s: %s", function, why);
  return error.report(message);
}

extern "C" attn_status attn_vocabulary_create(const attn_tokenizer *tokenizer, const int32_t *stops,
                                              int64_t count, attn_vocabulary **vocabulary,
                                              char **message) {
  if (!tokenizer || !vocabulary || count < 0 || (count && !stops))
    return refuse("attn_vocabulary_create", "null pointer", message);
  Error error;
  auto *made = create<attn_vocabulary>();
  if (!made)
    error.outOfMemory("a vocabulary");
  else
    made->trie.fill(tokenizer->tokenizer, stops, size_t(count), error);
  return handOver(made, vocabulary, message, error);
}

extern "C" void attn_vocabulary_destroy(attn_vocabulary *vocabulary) { dispose(vocabulary); }

extern "C" int64_t attn_vocabulary_words(const attn_vocabulary *vocabulary) {
  return vocabulary ? int64_t(vocabulary->trie.words()) : 0;
}

extern "C" attn_status attn_grammar_create(const attn_vocabulary *vocabulary, int32_t kind,
                                           const char *text, size_t size, attn_grammar **grammar,
                                           char **message) {
  if (!vocabulary || (!text && size) || !grammar)
    return refuse("attn_grammar_create", "null pointer", message);
  Error error;
  grammar::Expressions expressions;
  uint32_t start = 0;
  auto *made = create<attn_grammar>(vocabulary->trie);
  if (!made)
    error.outOfMemory("a grammar");
  else if (grammar::readGrammar(kind, Slice(text, size), expressions, start, error) == ATTN_OK)
    made->grammar.build(expressions, start, error);
  return handOver(made, grammar, message, error);
}

extern "C" void attn_grammar_destroy(attn_grammar *grammar) { dispose(grammar); }

extern "C" attn_status attn_matcher_create(const attn_grammar *grammar, attn_matcher **matcher,
                                           char **message) {
  if (!grammar || !matcher)
    return refuse("attn_matcher_create", "null pointer", message);
  Error error;
  auto *made = create<attn_matcher>(grammar->grammar);
  if (!made)
    error.outOfMemory("a matcher");
  else
    made->matcher.begin(error);
  return handOver(made, matcher, message, error);
}

extern "C" attn_status attn_matcher_copy(const attn_matcher *matcher, attn_matcher **copy,
                                         char **message) {
  if (!matcher || !copy)
    return refuse("attn_matcher_copy", "null pointer", message);
  Error error;
  auto *made = create<attn_matcher>(matcher->grammar);
  if (!made)
    error.outOfMemory("a matcher");
  else
    made->matcher.copyFrom(matcher->matcher, error);
  return handOver(made, copy, message, error);
}

extern "C" void attn_matcher_destroy(attn_matcher *matcher) { dispose(matcher); }

extern "C" attn_status attn_matcher_mask(attn_matcher *matcher, uint64_t *words, int64_t count,
                                         char **message) {
  if (!matcher || !words)
    return refuse("attn_matcher_mask", "null pointer", message);
  size_t needed = matcher->grammar.trie.words();
  Error error;
  if (count < int64_t(needed)) {
    error.set(ATTN_INVALID_ARGUMENT, "R0101", "attn_matcher_mask: %lld words; it needs %zu",
              static_cast<long long>(count), needed);
    return error.report(message);
  }
  matcher->matcher.mask(words, error);
  memset(words + needed, 0, (size_t(count) - needed) * sizeof *words);
  return error.report(message);
}

extern "C" attn_status attn_matcher_accept(attn_matcher *matcher, int32_t token, char **message) {
  if (!matcher)
    return refuse("attn_matcher_accept", "null pointer", message);
  Error error;
  matcher->matcher.accept(token, error);
  return error.report(message);
}

extern "C" int32_t attn_matcher_is_complete(const attn_matcher *matcher) {
  return matcher && matcher->matcher.isComplete();
}

extern "C" attn_status attn_matcher_forced(attn_matcher *matcher, int32_t *tokens, int64_t capacity,
                                           int64_t *count, char **message) {
  if (!matcher || !count || capacity < 0 || (capacity && !tokens))
    return refuse("attn_matcher_forced", "null pointer", message);
  Error error;
  Vector<int32_t> found;
  if (matcher->matcher.forced(found, error) == ATTN_OK) {
    *count = int64_t(found.size()) < capacity ? int64_t(found.size()) : capacity;
    if (*count)
      memcpy(tokens, found.data(), size_t(*count) * sizeof *tokens);
  }
  return error.report(message);
}
