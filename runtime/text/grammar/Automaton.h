// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A pushdown automaton over bytes. Rules call each other, and repetitions are counted on the stack,
// so that `{1,10000}` is as large as `{1,2}`.
#pragma once

#include "text/grammar/Expressions.h"

namespace attn::grammar {

/// A place in the automaton.
struct Node {
  /// What the automaton does there.
  enum Kind : uint8_t {
    Return, ///< the end of a rule: goes on where the stack says
    Bytes,  ///< takes a byte of the set `first`, and goes on at `next`
    Split,  ///< goes on at each of `next` places in `edges` from `first`
    Call,   ///< goes on at the rule `first`, and behind it at `next`
    Begin,  ///< begins the repetition `first`
    End     ///< has done the repetition `first` once
  };
  Kind kind = Return;
  uint32_t first = 0, next = 0;
};

/// A counted repetition.
struct Repetition {
  uint32_t least, most, body, next;
};

/// The automaton of a grammar. It does not change.
class Automaton {
public:
  /// Makes the automaton of prepared rules.
  attn_status build(const Expressions &expressions, uint32_t start, Error &error);

  /// Where a text begins. The end is where the bottom of the stack would be left.
  uint32_t start() const { return starts[startRule]; }

  Vector<Node> nodes;
  Vector<uint32_t> edges, starts; ///< of a rule, where it begins
  Vector<Repetition> repetitions;
  Vector<ByteSet> sets;
  Vector<uint32_t> ruleOf;   ///< by node
  Vector<ByteSet> followers; ///< by rule: bytes that may stand behind it

private:
  /// Makes the nodes of an expression that go on at `next`; gives the first.
  uint32_t compile(const Expressions &expressions, Id id, uint32_t next);
  uint32_t compileRepeat(const Expressions &expressions, const Expression &self, uint32_t next);
  uint32_t add(Node::Kind kind, uint32_t first, uint32_t next);
  /// Finds what may stand behind each rule.
  bool findFollowers();

  uint32_t startRule = 0, rule = 0;
  bool isGood = true;
};

} // namespace attn::grammar
