// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How many characters the texts of an expression have, and expressions whose texts have no fewer
// and no more than a schema says.
#include "text/grammar/Regex.h"
#include <algorithm>

using namespace attn;
using namespace attn::grammar;

/// From a least to a greatest count of characters; UINT64_MAX: without an end.
struct Lengths {
  uint64_t least, most;
};

static uint64_t product(uint64_t a, uint64_t b) {
  uint64_t result = 0;
  return a == 0 || b == 0 ? 0 : __builtin_mul_overflow(a, b, &result) ? UINT64_MAX : result;
}

static uint64_t sum(uint64_t a, uint64_t b) {
  uint64_t result = 0;
  return __builtin_add_overflow(a, b, &result) ? UINT64_MAX : result;
}

/// The lengths of an expression of UTF-8 without rules: of a character, all bytes but one are of
/// those that continue it.
static Lengths lengthsOf(const Expressions &all, Id id) {
  const Expression &self = all[id];
  Lengths found = {0, 0};
  switch (self.kind) {
  case Expression::Bytes:
    for (unsigned byte = 0; byte < 256; ++byte)
      if (all.setOf(self).has(byte) && (byte & 0xc0) != 0x80)
        found = {1, 1};
    break;
  case Expression::Repeat: {
    Lengths part = lengthsOf(all, self.first);
    uint64_t most = self.most == endless ? UINT64_MAX : self.most;
    found = {product(part.least, self.least), product(part.most, most)};
    break;
  }
  case Expression::Sequence:
    for (uint32_t i = 0; i < self.count; ++i) {
      Lengths part = lengthsOf(all, all.childrenOf(self)[i]);
      found = {sum(found.least, part.least), sum(found.most, part.most)};
    }
    break;
  case Expression::Choice:
    found.least = UINT64_MAX;
    for (uint32_t i = 0; i < self.count; ++i) {
      Lengths part = lengthsOf(all, all.childrenOf(self)[i]);
      found = {std::min(found.least, part.least), std::max(found.most, part.most)};
    }
    break;
  default:
    break;
  }
  return found;
}

/// The repetition of single characters by which alone the lengths of a sequence vary: its number
/// among the repetitions; -1 where there is none.
static int64_t varyingPart(const Expressions &all, const Id *parts, uint32_t count) {
  int64_t found = -1, repetition = -1;
  for (uint32_t i = 0; i < count; ++i) {
    const Expression &part = all[parts[i]];
    bool isRepetition = part.kind == Expression::Repeat;
    repetition += isRepetition;
    Lengths lengths = lengthsOf(all, parts[i]);
    if (lengths.least == lengths.most)
      continue;
    Lengths one = isRepetition ? lengthsOf(all, part.first) : Lengths{0, 0};
    if (found >= 0 || one.least != 1 || one.most != 1)
      return -1;
    found = repetition;
  }
  return found;
}

bool grammar::limitLength(Expressions &to, Id plain, Id written, uint32_t least, uint32_t most,
                          Id &result) {
  Lengths lengths = lengthsOf(to, plain);
  uint64_t greatest = most == endless ? UINT64_MAX : most;
  result = written;
  if (lengths.least >= least && lengths.most <= greatest)
    return true;
  if (lengths.least > greatest || lengths.most < least) {
    result = to.never();
    return true;
  }
  // `^[a-z]*$`, `^x.{2,}`: the one repetition has what is left.
  Expression self = to[plain], other = to[written];
  bool isSequence = self.kind == Expression::Sequence;
  const Id *parts = isSequence ? to.childrenOf(self) : &plain;
  int64_t which = varyingPart(to, parts, isSequence ? self.count : 1);
  if (which < 0 ||
      (isSequence ? other.kind != Expression::Sequence : other.kind != Expression::Repeat))
    return false;
  Vector<Id> made;
  for (uint32_t i = 0; i < (isSequence ? other.count : 1); ++i) {
    Id part = isSequence ? to.childrenOf(other)[i] : written;
    Expression repetition = to[part];
    if (repetition.kind == Expression::Repeat && which-- == 0) {
      uint64_t rest = lengths.least - repetition.least;
      uint64_t low = std::max(uint64_t(repetition.least), least > rest ? least - rest : 0);
      uint64_t high = std::min(uint64_t(repetition.most),
                               most == endless ? uint64_t(endless) : greatest - rest);
      part = low <= high ? to.repeat(repetition.first, uint32_t(low), uint32_t(high)) : to.never();
    }
    if (!made.push(part))
      return false;
  }
  result = to.sequence(made.data(), made.size());
  return true;
}
