// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The kinds of grammars, in the order of attn/grammar.h.
#include "text/grammar/FrontEnds.h"
#include "attn/grammar.h"

using namespace attn;
using namespace attn::grammar;

/// A kind, and what reads it.
static const struct Row {
  int32_t kind;
  attn_status (*read)(Slice text, Expressions &to, uint32_t &start, Error &error);
} rows[] = {{ATTN_GRAMMAR_JSON_SCHEMA, readJsonSchema},
            {ATTN_GRAMMAR_JSON_OBJECT, readJsonObject},
            {ATTN_GRAMMAR_REGEX, readRegex},
            {ATTN_GRAMMAR_GBNF, readGbnf},
            {ATTN_GRAMMAR_LARK, readLark}};

/// The longest text of a grammar.
static constexpr size_t maxGrammarBytes = 4 << 20;

attn_status grammar::readGrammar(int32_t kind, Slice text, Expressions &to, uint32_t &start,
                                 Error &error) {
  if (text.size > maxGrammarBytes)
    return error.set(ATTN_BAD_INPUT, "R0713", "a grammar of %zu bytes; at most %zu are read",
                     text.size, maxGrammarBytes);
  for (const Row &row : rows)
    if (row.kind == kind)
      return row.read(text, to, start, error);
  return error.set(ATTN_INVALID_ARGUMENT, "R0101", "attn_grammar_create: kind %d; known are 0 to 4",
                   int(kind));
}
