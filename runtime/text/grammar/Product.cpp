// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The product of automata: a rule for each set of places that all of them can be in, whose choices
// are bytes.
#include "text/grammar/Product.h"
#include "text/steps/Vocabulary.h"

using namespace attn;
using namespace attn::grammar;

Product::~Product() {
  for (Factor *factor : factors) {
    dispose(factor->states);
    dispose(factor);
  }
}

bool Product::add(Expressions &expressions, Id body, bool isWanted) {
  Error error;
  uint32_t start = expressions.addRule(Slice("factor"));
  // A part that no text fits stands for one that never ends.
  expressions.define(start, body);
  auto *made = create<Factor>();
  if (!made || !factors.push(made)) {
    dispose(made);
    return false;
  }
  made->isWanted = isWanted;
  if (body == expressions.never())
    expressions.define(start, expressions.byteRange(0, 0)); // no string of JSON has this byte
  if (prepareRules(expressions, start, error) || made->automaton.build(expressions, start, error))
    return false;
  const Automaton &automaton = made->automaton;
  made->states = create<States>(automaton);
  return made->states != nullptr;
}

bool Product::addPattern(Slice pattern, bool isWanted, RegexProblem &problem) {
  Expressions expressions;
  JsonParts parts(expressions);
  RegexOptions options;
  options.isSearched = true;
  options.json = &parts;
  Id body = compileRegex(expressions, pattern, options, problem);
  return !problem.what && add(expressions, body, isWanted);
}

bool Product::addTexts(const Vector<Slice> &texts, bool isWanted) {
  Expressions expressions;
  JsonParts parts(expressions);
  Vector<Id> ways;
  for (Slice text : texts)
    if (!ways.push(parts.plainText(text)))
      return false;
  return add(expressions, expressions.choice(ways.data(), ways.size()), isWanted);
}

bool Product::addLength(uint32_t least, uint32_t most) {
  Expressions expressions;
  JsonParts parts(expressions);
  return add(expressions, expressions.repeat(parts.plainCharacter(), least, most), true);
}

bool Product::isEnd(const uint32_t *states) const {
  for (size_t i = 0; i < factors.size(); ++i) {
    bool ends = ((*factors[i]->states)[states[i]].flags & States::Ends) != 0;
    if (ends != factors[i]->isWanted)
      return false;
  }
  return true;
}

bool Product::fits(Slice written) {
  Vector<uint32_t> states;
  for (Factor *factor : factors) {
    uint32_t at = factor->states->begin();
    for (size_t i = 0; i < written.size; ++i)
      at = factor->states->step(at, static_cast<unsigned char>(written.data[i]));
    if (!states.push(at))
      return false;
  }
  return isEnd(states.data());
}

bool Product::compile(Expressions &to, Id &result) {
  size_t width = factors.size();
  Vocabulary known; // from sets to their numbers
  Vector<uint32_t> current, rules;
  auto intern = [&](const uint32_t *states, uint32_t &number) {
    Slice key(reinterpret_cast<const char *>(states), width * sizeof *states);
    int32_t found = known.find(key);
    if (found < 0) {
      found = int32_t(rules.size());
      if (rules.size() >= maxStates || !known.add(found, key) ||
          !rules.push(to.addRule(Slice("part"))))
        return false;
    }
    number = uint32_t(found);
    return true;
  };
  for (Factor *factor : factors)
    if (!current.push(factor->states->begin()))
      return false;
  uint32_t number = 0;
  if (!intern(current.data(), number))
    return false;
  result = to.rule(rules[0]);
  for (uint32_t i = 0; i < rules.size() && !to.problem; ++i) {
    Vector<uint32_t> next;
    Vector<ByteSet> sets;
    Vector<uint32_t> targets;
    if (!next.resize(width))
      return false;
    memcpy(current.data(), known.token(i).data, width * sizeof *current.data());
    for (unsigned byte = 0x20; byte < 0xf8; ++byte) {
      bool isLost = false;
      for (size_t k = 0; k < width; ++k) {
        next[k] = factors[k]->states->step(current[k], byte);
        if ((*factors[k]->states)[next[k]].flags & States::HasFailed)
          return false;
        isLost = isLost || (next[k] == States::dead && factors[k]->isWanted);
      }
      if (isLost)
        continue;
      if (!intern(next.data(), number))
        return false;
      size_t place = 0;
      while (place < targets.size() && targets[place] != number)
        ++place;
      if (place == targets.size() && (!targets.push(number) || !sets.push(ByteSet())))
        return false;
      sets[place].add(byte);
    }
    Vector<Id> ways;
    for (size_t k = 0; k < targets.size(); ++k)
      if (!ways.push(to.sequence(to.bytes(sets[k]), to.rule(rules[targets[k]]))))
        return false;
    if (isEnd(current.data()) && !ways.push(to.empty()))
      return false;
    to.define(rules[i], to.choice(ways.data(), ways.size()));
  }
  return true;
}
