// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names to indices by open addressing; wildcards; the edit distance for "did you mean".
#include "base/Names.h"

using namespace attn;

uint64_t attn::hashName(const char *name, size_t length) {
  uint64_t hash = 0xcbf29ce484222325;
  for (size_t i = 0; i < length; ++i)
    hash = (hash ^ static_cast<unsigned char>(name[i])) * 0x100000001b3;
  return hash;
}

/// FNV's low bits are weak, and names may be chosen by an enemy; mixing keeps the probes short for
/// names that are merely regular.
static size_t slotOf(const char *name, size_t length, size_t mask) {
  uint64_t hash = hashName(name, length);
  hash ^= hash >> 32;
  hash *= 0x9e3779b97f4a7c15;
  return size_t(hash >> 20) & mask;
}

bool NameTable::insert(const char *name, size_t length, int64_t index) {
  if (2 * (count + 1) > slots.size() && !grow())
    return false;
  size_t mask = slots.size() - 1, i = slotOf(name, length, mask);
  while (slots[i].name)
    i = (i + 1) & mask;
  slots[i] = {name, length, index};
  ++count;
  return true;
}

int64_t NameTable::find(const char *name, size_t length) const {
  if (slots.empty())
    return -1;
  size_t mask = slots.size() - 1;
  for (size_t i = slotOf(name, length, mask); slots[i].name; i = (i + 1) & mask)
    if (slots[i].length == length && memcmp(slots[i].name, name, length) == 0)
      return slots[i].index;
  return -1;
}

bool NameTable::grow() {
  Vector<Slot> old;
  old.swap(slots);
  if (!slots.resize(old.empty() ? 64 : 2 * old.size()))
    return false;
  count = 0;
  for (const Slot &slot : old)
    if (slot.name)
      insert(slot.name, slot.length, slot.index);
  return true;
}

bool attn::matchesWildcard(const char *pattern, const char *name) {
  // Only the last star needs to be tried again: earlier ones took the shortest text already.
  const char *star = nullptr, *resume = nullptr;
  while (*name) {
    if (*pattern == '*') {
      star = pattern++;
      resume = name;
    } else if (*pattern == *name) {
      ++pattern;
      ++name;
    } else if (star) {
      pattern = star + 1;
      name = ++resume;
    } else {
      return false;
    }
  }
  while (*pattern == '*')
    ++pattern;
  return *pattern == 0;
}

size_t attn::editDistance(const char *a, size_t aLength, const char *b, size_t bLength,
                          size_t limit) {
  size_t difference = aLength > bLength ? aLength - bLength : bLength - aLength;
  constexpr size_t most = 255;
  if (difference >= limit || aLength > most || bLength > most)
    return limit;
  uint16_t row[most + 1];
  for (size_t j = 0; j <= bLength; ++j)
    row[j] = uint16_t(j);
  for (size_t i = 1; i <= aLength; ++i) {
    uint16_t diagonal = row[0], best = row[0] = uint16_t(i);
    for (size_t j = 1; j <= bLength; ++j) {
      uint16_t above = row[j], replaced = uint16_t(diagonal + (a[i - 1] != b[j - 1]));
      uint16_t shorter = uint16_t((above < row[j - 1] ? above : row[j - 1]) + 1);
      row[j] = replaced < shorter ? replaced : shorter;
      diagonal = above;
      best = row[j] < best ? row[j] : best;
    }
    if (best >= limit)
      return limit;
  }
  return row[bLength] < limit ? row[bLength] : limit;
}
