// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Choices whose parts begin alike.
#pragma once

#include "text/grammar/Expressions.h"

namespace attn::grammar {

/// Makes `a b | a c` in all rules `a (b | c)`, where `a` are bytes or a rule: a choice of words
/// becomes a trie, and what an automaton has to follow at the same time becomes less. What it
/// lacks, `expressions.problem` says.
void factorRules(Expressions &expressions);

} // namespace attn::grammar
