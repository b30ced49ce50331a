// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The fields of a message from front to back, through a window of the file.
#include "io/Protobuf.h"

using namespace attn::protobuf;

bool Window::byteAt(uint64_t place, uint8_t &byte) {
  if (place < first || place - first >= bytes.size()) {
    constexpr uint64_t most = 1 << 14;
    uint64_t left = file.size() - place;
    first = place;
    if (!bytes.resize(size_t(left < most ? left : most)) ||
        !file.read(place, bytes.size(), bytes.data())) {
      bytes.clear();
      return false;
    }
  }
  byte = uint8_t(bytes[size_t(place - first)]);
  return true;
}

bool Message::takeVarint(uint64_t &value) {
  value = 0;
  for (uint32_t shift = 0; shift < 64; shift += 7) {
    uint8_t byte = 0;
    if (at >= end || !window.byteAt(at, byte))
      return fail();
    ++at;
    value |= uint64_t(byte & 127) << shift;
    if (byte < 128)
      return true;
  }
  return fail();
}

bool Message::next(Field &field) {
  uint64_t key;
  if (isWrong || at >= end || !takeVarint(key))
    return false;
  field.number = uint32_t(key >> 3);
  field.kind = Kind(key & 7);
  field.value = 0;
  uint64_t size = 0;
  switch (field.kind) {
  case Varint:
    return takeVarint(field.value);
  case Bytes:
    if (!takeVarint(size))
      return false;
    break;
  case Fixed32:
    size = 4;
    break;
  case Fixed64:
    size = 8;
    break;
  default:
    return fail();
  }
  if (size > end - at)
    return fail();
  field.begin = at;
  field.end = at += size;
  return true;
}
