// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Expressions, and characters as the bytes of UTF-8 (RFC 3629).
#include "text/grammar/Expressions.h"
#include "base/Sort.h"
#include "text/steps/Unicode.h"
#include <algorithm>

using namespace attn;
using namespace attn::grammar;

void grammar::sortRanges(Vector<CharacterRange> &ranges) {
  sortValues(ranges.begin(), ranges.end(), [](const CharacterRange &a, const CharacterRange &b) {
    return a.first != b.first ? a.first < b.first : a.last < b.last;
  });
  size_t kept = 0;
  for (size_t i = 0; i < ranges.size(); ++i) {
    if (kept && ranges[i].first <= ranges[kept - 1].last + 1)
      ranges[kept - 1].last = std::max(ranges[kept - 1].last, ranges[i].last);
    else
      ranges[kept++] = ranges[i];
  }
  while (ranges.size() > kept)
    ranges.pop();
}

bool grammar::invertRanges(Vector<CharacterRange> &ranges) {
  Vector<CharacterRange> others;
  uint32_t next = 0;
  for (const CharacterRange &range : ranges) {
    if (range.first > next && !others.push({next, range.first - 1}))
      return false;
    next = range.last + 1;
  }
  if (next <= lastCharacter && !others.push({next, lastCharacter}))
    return false;
  ranges.swap(others);
  return true;
}

Expressions::Expressions() {
  Expression nothing;
  nothing.kind = Expression::Empty;
  if (!all.push(nothing) || !all.push(Expression()))
    problem = "memory";
}

Id Expressions::add(const Expression &expression) {
  if (problem)
    return never();
  if (all.size() >= maxExpressions)
    return fail("too large");
  if (!all.push(expression))
    return fail("memory");
  return Id(all.size() - 1);
}

Id Expressions::bytes(const ByteSet &set) {
  if (set.empty())
    return never();
  if (!sets.push(set))
    return fail("memory");
  Expression made;
  made.kind = Expression::Bytes;
  made.first = uint32_t(sets.size() - 1);
  return add(made);
}

Id Expressions::byte(unsigned char value) { return byteRange(value, value); }

Id Expressions::byteRange(unsigned char first, unsigned char last) {
  ByteSet set;
  set.add(first, last);
  return bytes(set);
}

Id Expressions::literal(Slice text) {
  Vector<Id> parts;
  for (size_t i = 0; i < text.size; ++i)
    if (!parts.push(byte(static_cast<unsigned char>(text.data[i]))))
      return fail("memory");
  return sequence(parts.data(), parts.size());
}

Id Expressions::addParent(Expression::Kind kind, const Id *parts, size_t count) {
  Expression made;
  made.kind = kind;
  made.first = uint32_t(children.size());
  made.count = uint32_t(count);
  if (children.size() + count > maxExpressions * 4)
    return fail("too large");
  if (!children.append(parts, count))
    return fail("memory");
  return add(made);
}

Id Expressions::sequence(const Id *parts, size_t count) {
  Vector<Id> kept;
  for (size_t i = 0; i < count; ++i) {
    const Expression &part = all[parts[i]];
    if (part.kind == Expression::Never)
      return never();
    if (part.kind == Expression::Sequence ? !kept.append(childrenOf(part), part.count)
                                          : part.kind != Expression::Empty && !kept.push(parts[i]))
      return fail("memory");
  }
  if (kept.size() <= 1)
    return kept.empty() ? empty() : kept[0];
  return addParent(Expression::Sequence, kept.data(), kept.size());
}

Id Expressions::choice(const Id *parts, size_t count) {
  Vector<Id> kept;
  ByteSet single;
  bool hasEmpty = false;
  for (size_t i = 0; i < count; ++i) {
    const Expression &part = all[parts[i]];
    if (part.kind == Expression::Bytes)
      single.add(setOf(part));
    hasEmpty = hasEmpty || part.kind == Expression::Empty;
    bool isOther = part.kind != Expression::Never && part.kind != Expression::Bytes &&
                   part.kind != Expression::Empty;
    if (isOther && (part.kind == Expression::Choice ? !kept.append(childrenOf(part), part.count)
                                                    : !kept.push(parts[i])))
      return fail("memory");
  }
  if (!single.empty() && !kept.push(bytes(single)))
    return fail("memory");
  if (hasEmpty && !kept.push(empty()))
    return fail("memory");
  if (kept.size() <= 1)
    return kept.empty() ? never() : kept[0];
  return addParent(Expression::Choice, kept.data(), kept.size());
}

Id Expressions::repeat(Id part, uint32_t least, uint32_t most) {
  if (most == 0 || part == empty())
    return empty();
  if (part == never())
    return least ? never() : empty();
  if (least == 1 && most == 1)
    return part;
  Expression made;
  made.kind = Expression::Repeat;
  made.first = part;
  made.least = least;
  made.most = most;
  return add(made);
}

Id Expressions::rule(uint32_t number) {
  Expression made;
  made.kind = Expression::Rule;
  made.first = number;
  return add(made);
}

uint32_t Expressions::addRule(Slice name) {
  const char *copy = names.copy(name.data, name.size);
  if (!copy || !rules.push({Slice(copy, name.size), never()})) {
    fail("memory");
    return 0;
  }
  return uint32_t(rules.size() - 1);
}

/// Adds the sequences of bytes of characters whose UTF-8 has one length to `parts`: where first and
/// last share all but their last bytes it is one sequence, else it is cut where a byte turns over.
static bool addRange(Expressions &to, uint32_t first, uint32_t last, Vector<Id> &parts) {
  char from[4], until[4];
  size_t size = encodeUtf8(first, from);
  encodeUtf8(last, until);
  for (size_t tail = 1; tail < size; ++tail) {
    uint32_t mask = (uint32_t(1) << (6 * tail)) - 1;
    if ((first & ~mask) == (last & ~mask))
      continue;
    if ((first & mask) != 0)
      return addRange(to, first, first | mask, parts) &&
             addRange(to, (first | mask) + 1, last, parts);
    if ((last & mask) != mask)
      return addRange(to, first, (last & ~mask) - 1, parts) &&
             addRange(to, last & ~mask, last, parts);
  }
  Id bytes[4];
  for (size_t i = 0; i < size; ++i)
    bytes[i] =
        to.byteRange(static_cast<unsigned char>(from[i]), static_cast<unsigned char>(until[i]));
  return parts.push(to.sequence(bytes, size));
}

Id Expressions::characters(const Vector<CharacterRange> &ranges) {
  static const CharacterRange lengths[] = {
      {0, 0x7f}, {0x80, 0x7ff}, {0x800, 0xd7ff}, {0xe000, 0xffff}, {0x10000, lastCharacter}};
  Vector<Id> parts;
  for (const CharacterRange &range : ranges)
    for (const CharacterRange &length : lengths) {
      uint32_t first = std::max(range.first, length.first);
      uint32_t last = std::min(range.last, length.last);
      if (first <= last && !addRange(*this, first, last, parts))
        return fail("memory");
    }
  return choice(parts.data(), parts.size());
}
