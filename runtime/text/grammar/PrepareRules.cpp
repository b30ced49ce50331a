// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From rules as people write them to those that an automaton follows without going in circles.
#include "text/grammar/Expressions.h"
#include "text/grammar/Factor.h"
#include <algorithm>

using namespace attn;
using namespace attn::grammar;

namespace {

/// What is true of an expression where it is true of its parts, by a queue: linear in their number.
class Facts {
public:
  /// Finds the expressions that may be empty, or, `ofBytes`, those that some text fits.
  static bool find(const Expressions &expressions, bool ofBytes, Vector<uint8_t> &facts);
};

} // namespace

/// The expressions that an expression is a part of: those of `parents` from its place on.
struct Parents {
  Vector<uint32_t> begins, parents;

  bool fill(const Expressions &expressions) {
    size_t count = expressions.size();
    if (!begins.resize(count + 2))
      return false;
    each(expressions, [&](Id from, Id) { ++begins[from + 2]; });
    for (size_t i = 2; i < count + 2; ++i)
      begins[i] += begins[i - 1];
    if (!parents.resize(begins[count + 1]))
      return false;
    each(expressions, [&](Id from, Id to) { parents[begins[from + 1]++] = to; });
    return true;
  }

private:
  template <typename Visit> static void each(const Expressions &expressions, Visit visit) {
    for (Id id = 0; id < expressions.size(); ++id) {
      const Expression &self = expressions[id];
      if (self.kind == Expression::Sequence || self.kind == Expression::Choice)
        for (uint32_t i = 0; i < self.count; ++i)
          visit(expressions.childrenOf(self)[i], id);
      else if (self.kind == Expression::Repeat)
        visit(self.first, id);
      else if (self.kind == Expression::Rule)
        visit(expressions.rules[self.first].body, id);
    }
  }
};

bool Facts::find(const Expressions &expressions, bool ofBytes, Vector<uint8_t> &facts) {
  Parents above;
  Vector<uint32_t> waits, queue;
  if (!above.fill(expressions) || !waits.resize(expressions.size()) ||
      !facts.resize(expressions.size()))
    return false;
  for (Id id = 0; id < expressions.size(); ++id) {
    const Expression &self = expressions[id];
    facts[id] = self.kind == Expression::Empty || (self.kind == Expression::Bytes && ofBytes) ||
                (self.kind == Expression::Repeat && self.least == 0);
    waits[id] = self.kind == Expression::Sequence ? self.count : 1;
    if (facts[id] && !queue.push(id))
      return false;
  }
  for (size_t at = 0; at < queue.size(); ++at)
    for (uint32_t i = above.begins[queue[at]]; i < above.begins[queue[at] + 1]; ++i) {
      Id parent = above.parents[i];
      if (facts[parent] || --waits[parent] > 0)
        continue;
      facts[parent] = 1;
      if (!queue.push(parent))
        return false;
    }
  return true;
}

namespace {

/// The steps of `prepareRules`, each of which makes new expressions of the old ones.
class Preparer {
public:
  explicit Preparer(Expressions &all) : all(all) {}

  /// Takes what no text fits out of all rules.
  bool prune();
  /// Makes repetitions of what is not empty.
  bool fillRepetitions();
  /// Makes a repetition of each rule that begins with itself.
  bool mendRecursion();
  /// A rule that begins with itself still, and what it begins with; -1 where there is none.
  bool findCircle(int64_t &rule, int64_t &next);

private:
  /// Makes each expression below `id` anew, children first, by `change`.
  template <typename Change> Id rebuild(Id id, Vector<Id> &made, Change change);
  bool isNullable(Id id);
  /// What `id` is but for the empty text.
  Id nonEmpty(Id id);
  Id nonEmptyRule(Id id);
  /// Defines the rules that `nonEmptyRule` has added.
  bool definePending();
  bool addLefts(Id id, uint32_t stamp, Vector<uint32_t> &stamps, Vector<uint32_t> &lefts);

  Expressions &all;
  Vector<uint8_t> nullableRules, nullable; ///< of expressions: 0 not known, 1 no, 2 yes
  Vector<Id> nonEmptyOf;                   ///< what has been made, plus 1
  Vector<uint32_t> nonEmptyRules;          ///< by rule, plus 1
};

} // namespace

template <typename Change> Id Preparer::rebuild(Id id, Vector<Id> &made, Change change) {
  if (id < made.size() && made[id])
    return made[id] - 1;
  Expression self = all[id];
  Id result = id;
  if (self.kind == Expression::Sequence || self.kind == Expression::Choice) {
    Vector<Id> parts;
    for (uint32_t i = 0; i < self.count; ++i)
      if (!parts.push(rebuild(all.childrenOf(self)[i], made, change)))
        return all.never();
    result = self.kind == Expression::Sequence ? all.sequence(parts.data(), parts.size())
                                               : all.choice(parts.data(), parts.size());
  } else if (self.kind == Expression::Repeat) {
    Id part = rebuild(self.first, made, change);
    result = change(all.repeat(part, self.least, self.most));
  } else {
    result = change(id);
  }
  if (!cover(made, id))
    return all.never();
  made[id] = result + 1;
  return result;
}

bool Preparer::prune() {
  Vector<uint8_t> fits;
  Vector<Id> made;
  if (!Facts::find(all, true, fits))
    return false;
  for (uint32_t i = 0; i < all.rules.size(); ++i)
    all.rules[i].body = rebuild(all.rules[i].body, made, [&](Id id) {
      bool isLost = all[id].kind == Expression::Rule && id < fits.size() && !fits[id];
      return isLost ? all.never() : id;
    });
  return true;
}

bool Preparer::isNullable(Id id) {
  if (!cover(nullable, id))
    return false;
  if (nullable[id])
    return nullable[id] == 2;
  const Expression &self = all[id];
  bool is = self.kind == Expression::Empty || self.kind == Expression::Sequence;
  if (self.kind == Expression::Rule)
    is = self.first < nullableRules.size() && nullableRules[self.first];
  else if (self.kind == Expression::Repeat)
    is = self.least == 0 || isNullable(self.first);
  else if (self.kind == Expression::Sequence)
    for (uint32_t i = 0; is && i < self.count; ++i)
      is = isNullable(all.childrenOf(self)[i]);
  else if (self.kind == Expression::Choice)
    for (uint32_t i = 0; !is && i < self.count; ++i)
      is = isNullable(all.childrenOf(self)[i]);
  nullable[id] = is ? 2 : 1;
  return is;
}

Id Preparer::nonEmptyRule(Id id) {
  uint32_t rule = all[id].first;
  if (!cover(nonEmptyRules, rule))
    return all.never();
  if (!nonEmptyRules[rule])
    nonEmptyRules[rule] = all.addRule(all.rules[rule].name) + 1;
  return all.rule(nonEmptyRules[rule] - 1);
}

Id Preparer::nonEmpty(Id id) {
  if (!isNullable(id))
    return id;
  if (id < nonEmptyOf.size() && nonEmptyOf[id])
    return nonEmptyOf[id] - 1;
  Expression self = all[id];
  Id result = all.never();
  if (self.kind == Expression::Rule) {
    result = nonEmptyRule(id);
  } else if (self.kind == Expression::Repeat) {
    result = all.repeat(nonEmpty(self.first), 1, self.most);
  } else if (self.kind == Expression::Sequence || self.kind == Expression::Choice) {
    // Of a sequence, some part is the first that is not empty, with all behind it as they are.
    Vector<Id> parts;
    for (uint32_t i = 0; i < self.count; ++i) {
      Id part = nonEmpty(all.childrenOf(self)[i]);
      if (self.kind == Expression::Sequence && i + 1 < self.count) {
        Vector<Id> rest;
        if (!rest.append(all.childrenOf(self) + i + 1, self.count - i - 1))
          return all.never();
        part = all.sequence(part, all.sequence(rest.data(), rest.size()));
      }
      if (!parts.push(part))
        return all.never();
    }
    result = all.choice(parts.data(), parts.size());
  }
  if (!cover(nonEmptyOf, id))
    return all.never();
  nonEmptyOf[id] = result + 1;
  return result;
}

bool Preparer::fillRepetitions() {
  Vector<uint8_t> empties;
  Vector<Id> made;
  if (!Facts::find(all, false, empties) || !nullableRules.resize(all.rules.size()))
    return false;
  size_t count = all.rules.size();
  for (uint32_t i = 0; i < count; ++i)
    nullableRules[i] = empties[all.rules[i].body];
  for (uint32_t i = 0; i < count; ++i)
    all.rules[i].body = rebuild(all.rules[i].body, made, [&](Id id) {
      Expression self = all[id];
      if (self.kind != Expression::Repeat || !isNullable(self.first))
        return id;
      return all.repeat(nonEmpty(self.first), 0, self.most);
    });
  return definePending();
}

bool Preparer::definePending() {
  // Rules without the empty text call for those of other rules.
  for (bool isDone = false; !isDone && !all.problem;) {
    isDone = true;
    for (uint32_t i = 0; i < nonEmptyRules.size(); ++i)
      if (uint32_t rule = nonEmptyRules[i]; rule && all.rules[rule - 1].body == all.never()) {
        Id body = nonEmpty(all.rules[i].body);
        all.define(rule - 1, body);
        isDone = isDone && body == all.never();
      }
  }
  return true;
}

bool Preparer::mendRecursion() {
  // Rules that are added meanwhile come last.
  for (uint32_t rule = 0; rule < all.rules.size(); ++rule) {
    Vector<Id> bases, tails;
    Id body = all.rules[rule].body;
    Expression self = all[body];
    uint32_t parts = self.kind == Expression::Choice ? self.count : 1;
    for (uint32_t i = 0; i < parts; ++i) {
      Id part = self.kind == Expression::Choice ? all.childrenOf(self)[i] : body;
      Expression one = all[part];
      Id first = one.kind == Expression::Sequence ? all.childrenOf(one)[0] : part;
      bool isSelf = all[first].kind == Expression::Rule && all[first].first == rule;
      if (!isSelf) {
        if (!bases.push(part))
          return false;
        continue;
      }
      if (one.kind != Expression::Sequence)
        continue; // a rule that is itself says nothing
      Vector<Id> rest;
      if (!rest.append(all.childrenOf(one) + 1, one.count - 1) ||
          !tails.push(nonEmpty(all.sequence(rest.data(), rest.size()))))
        return false;
    }
    if (bases.size() == parts)
      continue;
    Id tail = all.repeat(all.choice(tails.data(), tails.size()), 0, endless);
    all.define(rule, all.sequence(all.choice(bases.data(), bases.size()), tail));
    if (!definePending())
      return false;
  }
  return true;
}

bool Preparer::addLefts(Id id, uint32_t stamp, Vector<uint32_t> &stamps, Vector<uint32_t> &lefts) {
  if (id >= stamps.size() && !stamps.resize(all.size()))
    return false;
  if (stamps[id] == stamp)
    return true;
  stamps[id] = stamp;
  const Expression &self = all[id];
  if (self.kind == Expression::Rule)
    return lefts.push(self.first);
  if (self.kind == Expression::Repeat)
    return addLefts(self.first, stamp, stamps, lefts);
  if (self.kind == Expression::Sequence || self.kind == Expression::Choice)
    for (uint32_t i = 0; i < self.count; ++i) {
      Id part = all.childrenOf(self)[i];
      if (!addLefts(part, stamp, stamps, lefts))
        return false;
      if (self.kind == Expression::Sequence && !isNullable(part))
        break;
    }
  return true;
}

bool Preparer::findCircle(int64_t &rule, int64_t &next) {
  rule = next = -1;
  Vector<uint32_t> stamps, lefts, begins, path, places;
  Vector<uint8_t> colours; // 0 new, 1 on the path, 2 done
  size_t count = all.rules.size();
  if (!colours.resize(count) || !places.resize(count))
    return false;
  for (uint32_t i = 0; i < count; ++i)
    if (!begins.push(uint32_t(lefts.size())) || !addLefts(all.rules[i].body, i + 1, stamps, lefts))
      return false;
  if (!begins.push(uint32_t(lefts.size())))
    return false;
  for (uint32_t start = 0; start < count; ++start) {
    if (colours[start])
      continue;
    colours[start] = 1;
    if (!path.push(start))
      return false;
    while (!path.empty()) {
      uint32_t at = path.back();
      if (begins[at] + places[at] == begins[at + 1]) {
        colours[at] = 2;
        path.pop();
        continue;
      }
      uint32_t left = lefts[begins[at] + places[at]++];
      if (colours[left] == 1) {
        rule = left;
        next = at;
        return true;
      }
      if (colours[left] == 0) {
        colours[left] = 1;
        if (!path.push(left))
          return false;
      }
    }
  }
  return true;
}

attn_status grammar::prepareRules(Expressions &expressions, uint32_t start, Error &error) {
  Preparer preparer(expressions);
  int64_t rule = -1, next = -1;
  bool isGood = preparer.prune() && preparer.fillRepetitions() && preparer.mendRecursion() &&
                preparer.prune() && preparer.findCircle(rule, next);
  if (!isGood)
    return error.outOfMemory("a grammar");
  if (rule >= 0 && !expressions.problem) {
    error.set(ATTN_BAD_INPUT, "R0713", "the rule `");
    error.text.appendQuoted(expressions.rules[rule].name.data, expressions.rules[rule].name.size);
    error.text.append("` begins with itself, by way of `");
    error.text.appendQuoted(expressions.rules[next].name.data, expressions.rules[next].name.size);
    error.text.append("`, before any character");
    error.help("write what repeats behind what it begins with: `a: b (\"+\" b)*`");
    return error.status;
  }
  factorRules(expressions);
  if (expressions.problem && !strcmp(expressions.problem, "memory"))
    return error.outOfMemory("a grammar");
  if (expressions.problem)
    return error.set(ATTN_BAD_INPUT, "R0713", "the grammar is too large: more than %zu parts",
                     Expressions::maxExpressions);
  if (expressions.rules[start].body == expressions.never())
    return error.set(ATTN_BAD_INPUT, "R0713", "no text fits the grammar");
  return ATTN_OK;
}
