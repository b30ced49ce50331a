// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The forms that grammars are written in: a row each in FrontEnds.cpp.
#pragma once

#include "text/grammar/Expressions.h"

namespace attn::grammar {

/// Reads a grammar of one of the kinds of attn/grammar.h; `start` becomes the rule that texts
/// follow.
attn_status readGrammar(int32_t kind, Slice text, Expressions &to, uint32_t &start, Error &error);

/// The readers of each kind. R0711: a schema; R0712: an expression or a grammar that is not read.
attn_status readJsonSchema(Slice text, Expressions &to, uint32_t &start, Error &error);
attn_status readJsonObject(Slice text, Expressions &to, uint32_t &start, Error &error);
attn_status readRegex(Slice text, Expressions &to, uint32_t &start, Error &error);
attn_status readGbnf(Slice text, Expressions &to, uint32_t &start, Error &error);
attn_status readLark(Slice text, Expressions &to, uint32_t &start, Error &error);

} // namespace attn::grammar
