// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From expressions to nodes, from the end of a rule to its beginning.
#include "text/grammar/Automaton.h"

using namespace attn;
using namespace attn::grammar;

/// Nodes that an automaton has at most.
static constexpr size_t maxNodes = 1 << 22;
/// A repetition of one byte that is written out: up to so many times.
static constexpr uint32_t mostWritten = 8;

uint32_t Automaton::add(Node::Kind kind, uint32_t first, uint32_t next) {
  Node node;
  node.kind = kind;
  node.first = first;
  node.next = next;
  isGood = isGood && nodes.size() < maxNodes && nodes.push(node) && ruleOf.push(rule);
  return isGood ? uint32_t(nodes.size() - 1) : 0;
}

uint32_t Automaton::compileRepeat(const Expressions &expressions, const Expression &self,
                                  uint32_t next) {
  bool isByte = expressions[self.first].kind == Expression::Bytes;
  uint32_t split;
  if (self.most == endless && self.least <= (isByte ? mostWritten : 1)) {
    // A loop: a split, whose first way is the body that comes back to it.
    split = add(Node::Split, uint32_t(edges.size()), 2);
    isGood = isGood && edges.push(0) && edges.push(next);
    if (!isGood)
      return 0;
    uint32_t place = nodes[split].first, body = compile(expressions, self.first, split);
    edges[place] = body;
    uint32_t begin = self.least == 0 ? split : body;
    for (uint32_t i = 1; i < self.least; ++i)
      begin = compile(expressions, self.first, begin);
    return begin;
  }
  if (self.most == 1 || (isByte && self.most <= mostWritten)) {
    uint32_t at = next;
    for (uint32_t i = self.most; i > 0; --i) {
      at = compile(expressions, self.first, at);
      if (i > self.least) {
        uint32_t place = uint32_t(edges.size());
        isGood = isGood && edges.push(at) && edges.push(next);
        at = add(Node::Split, place, 2);
      }
    }
    return at;
  }
  auto number = uint32_t(repetitions.size());
  isGood = isGood && repetitions.push({self.least, self.most, 0, next});
  uint32_t body = compile(expressions, self.first, add(Node::End, number, 0));
  if (isGood)
    repetitions[number].body = body;
  return add(Node::Begin, number, next);
}

uint32_t Automaton::compile(const Expressions &expressions, Id id, uint32_t next) {
  const Expression &self = expressions[id];
  switch (self.kind) {
  case Expression::Empty:
  case Expression::Never: // pruned, but for rules that nothing calls
    return next;
  case Expression::Bytes:
    isGood = isGood && sets.push(expressions.setOf(self));
    return add(Node::Bytes, uint32_t(sets.size() - 1), next);
  case Expression::Rule:
    return add(Node::Call, self.first, next);
  case Expression::Repeat:
    return compileRepeat(expressions, self, next);
  case Expression::Sequence:
    for (uint32_t i = self.count; i > 0; --i)
      next = compile(expressions, expressions.childrenOf(self)[i - 1], next);
    return next;
  case Expression::Choice: {
    Vector<uint32_t> ways;
    for (uint32_t i = 0; isGood && i < self.count; ++i)
      isGood = ways.push(compile(expressions, expressions.childrenOf(self)[i], next));
    auto place = uint32_t(edges.size());
    isGood = isGood && edges.append(ways.data(), ways.size());
    return add(Node::Split, place, self.count);
  }
  }
  return next;
}

attn_status Automaton::build(const Expressions &expressions, uint32_t start, Error &error) {
  startRule = start;
  for (rule = 0; isGood && rule < expressions.rules.size(); ++rule) {
    uint32_t end = add(Node::Return, 0, 0);
    isGood = isGood && starts.push(compile(expressions, expressions.rules[rule].body, end));
  }
  if (nodes.size() >= maxNodes)
    return error.set(ATTN_BAD_INPUT, "R0713", "the grammar is too large: more than %zu places",
                     maxNodes);
  if (!isGood || !findFollowers())
    return error.outOfMemory("a grammar");
  return ATTN_OK;
}

namespace {

/// Bytes that may come next from each node, and whether its rule may end there; found by going
/// round until nothing changes.
class Firsts {
public:
  explicit Firsts(const Automaton &automaton) : automaton(automaton) {}
  bool find();

  Vector<ByteSet> sets;
  Vector<uint8_t> ends;

private:
  /// Takes over what a node that comes next has.
  bool take(uint32_t to, uint32_t from, bool takesEnd);
  bool visit(uint32_t node);

  const Automaton &automaton;
};

} // namespace

bool Firsts::take(uint32_t to, uint32_t from, bool takesEnd) {
  ByteSet before = sets[to];
  bool hadEnd = ends[to];
  sets[to].add(sets[from]);
  ends[to] = hadEnd || (takesEnd && ends[from]);
  return !(before == sets[to]) || bool(ends[to]) != hadEnd;
}

bool Firsts::visit(uint32_t at) {
  const Node &node = automaton.nodes[at];
  bool changes = false;
  switch (node.kind) {
  case Node::Return:
    changes = !ends[at];
    ends[at] = 1;
    break;
  case Node::Bytes:
    changes = !(sets[at] == automaton.sets[node.first]);
    sets[at] = automaton.sets[node.first];
    break;
  case Node::Split:
    for (uint32_t i = 0; i < node.next; ++i)
      changes |= take(at, automaton.edges[node.first + i], true);
    break;
  case Node::Call: {
    uint32_t callee = automaton.starts[node.first];
    changes = take(at, callee, false);
    if (ends[callee])
      changes |= take(at, node.next, true);
    break;
  }
  case Node::Begin:
  case Node::End: {
    const Repetition &repetition = automaton.repetitions[node.first];
    changes = take(at, repetition.body, false);
    if (node.kind == Node::End || repetition.least == 0)
      changes |= take(at, repetition.next, true);
    break;
  }
  }
  return changes;
}

bool Firsts::find() {
  size_t count = automaton.nodes.size();
  if (!sets.resize(count) || !ends.resize(count))
    return false;
  for (bool changes = true; changes;) {
    changes = false;
    // What comes next was mostly made before, or, of loops, behind.
    for (uint32_t i = 0; i < count; ++i)
      changes |= visit(i);
    for (uint32_t i = uint32_t(count); i > 0; --i)
      changes |= visit(i - 1);
  }
  return true;
}

bool Automaton::findFollowers() {
  Firsts firsts(*this);
  if (!firsts.find() || !followers.resize(starts.size()))
    return false;
  for (bool changes = true; changes;) {
    changes = false;
    for (uint32_t i = 0; i < nodes.size(); ++i) {
      if (nodes[i].kind != Node::Call)
        continue;
      ByteSet &set = followers[nodes[i].first], before = set;
      set.add(firsts.sets[nodes[i].next]);
      if (firsts.ends[nodes[i].next])
        set.add(followers[ruleOf[i]]);
      changes |= !(before == set);
    }
  }
  return true;
}
