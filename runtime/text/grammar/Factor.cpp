// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Parts of a choice are sorted by what they begin with; those that begin alike share it.
#include "text/grammar/Factor.h"
#include "base/Sort.h"
#include <algorithm>

using namespace attn;
using namespace attn::grammar;

namespace {

/// An expression from one of its parts on.
struct Rest {
  Id id;
  uint32_t from;
};

/// Rebuilds expressions, children first, each once.
class Factoring {
public:
  explicit Factoring(Expressions &all) : all(all) {}
  Id factor(Id id);

private:
  uint32_t lengthOf(Rest rest) const {
    const Expression &self = all[rest.id];
    return (self.kind == Expression::Sequence ? self.count : self.kind != Expression::Empty) -
           rest.from;
  }
  Id partOf(Rest rest, uint32_t i) const {
    const Expression &self = all[rest.id];
    return self.kind == Expression::Sequence ? all.childrenOf(self)[rest.from + i] : rest.id;
  }
  /// The order of parts: bytes by their sets, rules by their numbers, others by theirs; 0 where
  /// they are the same.
  int compare(Id a, Id b) const;
  Id sequenceOf(Rest rest, uint32_t count);
  /// The choice of `count` rests, which may be moved.
  Id choiceOf(Rest *rests, size_t count);

  Expressions &all;
  Vector<Id> made; ///< plus 1
};

} // namespace

int Factoring::compare(Id a, Id b) const {
  const Expression &first = all[a], &second = all[b];
  if (first.kind != second.kind)
    return first.kind < second.kind ? -1 : 1;
  if (first.kind == Expression::Bytes)
    return memcmp(all.setOf(first).words, all.setOf(second).words, sizeof(ByteSet));
  uint32_t x = first.kind == Expression::Rule ? first.first : a;
  uint32_t y = first.kind == Expression::Rule ? second.first : b;
  return x < y ? -1 : x > y;
}

Id Factoring::sequenceOf(Rest rest, uint32_t count) {
  Vector<Id> parts;
  for (uint32_t i = 0; i < count; ++i)
    if (!parts.push(partOf(rest, i)))
      return all.never();
  return all.sequence(parts.data(), parts.size());
}

Id Factoring::choiceOf(Rest *rests, size_t count) {
  sortValues(rests, rests + count, [&](const Rest &a, const Rest &b) {
    uint32_t x = lengthOf(a), y = lengthOf(b);
    if (!x || !y)
      return x < y;
    return compare(partOf(a, 0), partOf(b, 0)) < 0;
  });
  Vector<Id> parts;
  for (size_t begin = 0, end; begin < count; begin = end) {
    uint32_t shared = lengthOf(rests[begin]);
    for (end = begin + 1; end < count; ++end) {
      if (!shared ? lengthOf(rests[end]) != 0
                  : compare(partOf(rests[begin], 0), partOf(rests[end], 0)) != 0)
        break;
      uint32_t same = 1, most = std::min(shared, lengthOf(rests[end]));
      while (same < most && compare(partOf(rests[begin], same), partOf(rests[end], same)) == 0)
        ++same;
      shared = std::min(shared, same);
    }
    Id part = sequenceOf(rests[begin], shared);
    if (end - begin > 1 && shared) {
      for (size_t i = begin; i < end; ++i)
        rests[i].from += shared;
      part = all.sequence(part, choiceOf(rests + begin, end - begin));
    }
    if (!parts.push(part))
      return all.never();
  }
  return all.choice(parts.data(), parts.size());
}

Id Factoring::factor(Id id) {
  if (id < made.size() && made[id])
    return made[id] - 1;
  Expression self = all[id];
  Id result = id;
  if (self.kind == Expression::Repeat) {
    result = all.repeat(factor(self.first), self.least, self.most);
  } else if (self.kind == Expression::Sequence || self.kind == Expression::Choice) {
    Vector<Id> parts;
    Vector<Rest> rests;
    for (uint32_t i = 0; i < self.count; ++i)
      if (!parts.push(factor(all.childrenOf(self)[i])) || !rests.push({parts.back(), 0}))
        return all.never();
    result = self.kind == Expression::Sequence ? all.sequence(parts.data(), parts.size())
                                               : choiceOf(rests.data(), rests.size());
  }
  if (!cover(made, id))
    return all.never();
  made[id] = result + 1;
  return result;
}

void grammar::factorRules(Expressions &expressions) {
  Factoring factoring(expressions);
  for (uint32_t i = 0; i < expressions.rules.size(); ++i)
    expressions.define(i, factoring.factor(expressions.rules[i].body));
}
