// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Steps through a double array: a unit holds the label by which it is reached, the offset to its
// children and whether one of them is a value (S. Yata, darts-clone).
#include "text/steps/Charsmap.h"
#include "text/steps/Unicode.h"

using namespace attn;

uint32_t Charsmap::unit(size_t index) const {
  uint32_t value = 0;
  if (index < units)
    for (size_t i = 0; i < 4; ++i)
      value |= uint32_t(static_cast<unsigned char>(trie[4 * index + i])) << (8 * i);
  return value;
}

bool Charsmap::open(Slice bytes) {
  units = 0;
  if (bytes.size == 0)
    return true;
  if (bytes.size < 4)
    return false;
  trie = bytes.data;
  units = 1;
  size_t size = unit(0);
  units = 0;
  if (size % 4 != 0 || size > bytes.size - 4 || size == 0)
    return false;
  trie = bytes.data + 4;
  blob = bytes.from(4 + size);
  if (blob.size == 0 || blob.data[blob.size - 1] != 0 || !isUtf8(blob))
    return false;
  units = size / 4;
  return true;
}

bool Charsmap::find(Slice text, bool isLongest, Slice &replacement, size_t &length) const {
  auto offset = [](uint32_t unit) { return (unit >> 10) << ((unit & 0x200) >> 6); };
  if (units == 0)
    return false;
  size_t node = offset(unit(0)), found = SIZE_MAX;
  for (size_t i = 0; i < text.size; ++i) {
    auto byte = static_cast<unsigned char>(text.data[i]);
    if (byte == 0)
      break;
    node ^= byte;
    uint32_t reached = unit(node);
    if (node >= units || (reached & 0x800000ffu) != byte)
      break;
    node ^= offset(reached);
    if ((reached & 0x100) == 0)
      continue;
    found = unit(node) & 0x7fffffffu;
    length = i + 1;
    if (!isLongest)
      break;
  }
  // A place in the middle of a character comes from a damaged file.
  if (found >= blob.size || (static_cast<unsigned char>(blob.data[found]) & 0xc0) == 0x80)
    return false;
  replacement = Slice(blob.data + found);
  return true;
}

static int sextet(char c) {
  if (c >= 'A' && c <= 'Z')
    return c - 'A';
  if (c >= 'a' && c <= 'z')
    return c - 'a' + 26;
  if (c >= '0' && c <= '9')
    return c - '0' + 52;
  return c == '+' ? 62 : c == '/' ? 63 : -1;
}

bool attn::decodeBase64(Slice text, Vector<char> &bytes) {
  bytes.clear();
  while (text.size && text.data[text.size - 1] == '=')
    --text.size;
  if (text.size % 4 == 1 || !bytes.reserve(text.size / 4 * 3 + 3))
    return false;
  uint32_t word = 0;
  for (size_t i = 0; i < text.size; ++i) {
    int value = sextet(text.data[i]);
    if (value < 0)
      return false;
    word = word << 6 | uint32_t(value);
    if (i % 4 != 0)
      bytes.push(char(word >> (6 - 2 * (i % 4))));
  }
  return true;
}
