// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Tables with open addressing: tokens, pairs, and a trie whose edges are pairs.
#include "text/steps/Vocabulary.h"

using namespace attn;

/// The power of two that leaves half of the places free.
static size_t placesFor(size_t count) {
  size_t places = 16;
  while (places < 2 * count)
    places *= 2;
  return places;
}

bool Vocabulary::grow(size_t count) {
  Vector<Slot> grown;
  if (!grown.resize(count))
    return false;
  for (Slot &slot : grown)
    slot.id = -1;
  slots.swap(grown);
  for (const Slot &old : grown) {
    if (old.id < 0)
      continue;
    size_t at = hashOf(tokens[size_t(old.id)]) & (count - 1);
    while (slots[at].id >= 0)
      at = (at + 1) & (count - 1);
    slots[at] = old;
  }
  return true;
}

bool Vocabulary::reserve(size_t count) {
  size_t places = placesFor(count);
  return tokens.reserve(count) && (places <= slots.size() || grow(places));
}

bool Vocabulary::add(int32_t id, Slice bytes) {
  if (2 * (used + 1) > slots.size() && !grow(slots.empty() ? 16 : 2 * slots.size()))
    return false;
  const char *copy = arena.copy(bytes.data, bytes.size);
  if (!copy)
    return false;
  bytes.data = copy;
  if (size_t(id) >= tokens.size()) {
    if (size_t(id) >= 2 * tokens.size() || tokens.size() < 8) {
      if (!tokens.reserve(size_t(id) + 8))
        return false;
    }
    while (tokens.size() <= size_t(id))
      if (!tokens.push(Slice()))
        return false;
  }
  tokens[size_t(id)] = bytes;
  longestToken = bytes.size > longestToken ? bytes.size : longestToken;
  uint64_t hash = hashOf(bytes);
  size_t mask = slots.size() - 1, at = hash & mask;
  while (slots[at].id >= 0) {
    if (slots[at].hash == uint32_t(hash >> 32) && tokens[size_t(slots[at].id)] == bytes) {
      slots[at].id = id;
      return true;
    }
    at = (at + 1) & mask;
  }
  slots[at] = {id, uint32_t(hash >> 32)};
  ++used;
  return true;
}

int32_t Vocabulary::find(Slice bytes) const {
  if (slots.empty() || bytes.size > longestToken)
    return -1;
  uint64_t hash = hashOf(bytes);
  size_t mask = slots.size() - 1;
  for (size_t at = hash & mask; slots[at].id >= 0; at = (at + 1) & mask)
    if (slots[at].hash == uint32_t(hash >> 32) && tokens[size_t(slots[at].id)] == bytes)
      return slots[at].id;
  return -1;
}

bool PairTable::grow(size_t count) {
  Vector<Slot> grown;
  if (!grown.resize(count))
    return false;
  for (Slot &slot : grown)
    slot.key = freeSlot;
  slots.swap(grown);
  for (const Slot &old : grown) {
    if (old.key == freeSlot)
      continue;
    size_t at = placeOf(old.key) & (count - 1);
    while (slots[at].key != freeSlot)
      at = (at + 1) & (count - 1);
    slots[at] = old;
  }
  return true;
}

bool PairTable::reserve(size_t count) {
  size_t places = placesFor(count);
  return places <= slots.size() || grow(places);
}

bool PairTable::add(int32_t left, int32_t right, Merge merge) {
  if (2 * (used + 1) > slots.size() && !grow(slots.empty() ? 16 : 2 * slots.size()))
    return false;
  uint64_t key = keyOf(left, right);
  size_t mask = slots.size() - 1, at = placeOf(key) & mask;
  while (slots[at].key != freeSlot && slots[at].key != key)
    at = (at + 1) & mask;
  used += slots[at].key == freeSlot;
  slots[at] = {key, merge};
  return true;
}

bool ByteTrie::add(Slice bytes, int32_t value) {
  if (values.empty() && !values.push(-1))
    return false;
  uint32_t node = 0;
  for (size_t i = 0; i < bytes.size; ++i) {
    auto byte = static_cast<unsigned char>(bytes.data[i]);
    uint32_t next = step(node, byte);
    if (next == 0) {
      next = uint32_t(values.size());
      if (!values.push(-1) || !edges.add(int32_t(node), byte, {0, int32_t(next)}))
        return false;
    }
    node = next;
  }
  values[node] = value;
  if (bytes.size)
    firsts[static_cast<unsigned char>(bytes.data[0])] = true;
  return true;
}

int32_t ByteTrie::longest(Slice text, size_t &length) const {
  int32_t found = -1;
  if (empty() || text.size == 0 || !begins(static_cast<unsigned char>(text.data[0])))
    return found;
  uint32_t node = 0;
  for (size_t i = 0; i < text.size; ++i) {
    node = step(node, static_cast<unsigned char>(text.data[i]));
    if (node == 0)
      break;
    if (values[node] >= 0) {
      found = values[node];
      length = i + 1;
    }
  }
  return found;
}
