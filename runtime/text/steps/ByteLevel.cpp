// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bytes to characters and back (Radford et al. 2019, `bytes_to_unicode`).
#include "text/steps/ByteLevel.h"
#include "base/Utf8.h"

using namespace attn;

static constexpr bool isPrintable(unsigned byte) {
  return (byte >= 0x21 && byte <= 0x7e) || (byte >= 0xa1 && byte <= 0xac) || byte >= 0xae;
}

namespace {

/// Both directions, and the characters as UTF-8, of at most two bytes.
struct Tables {
  uint16_t chars[256] = {};
  int16_t bytes[0x144] = {};
  char text[256][2] = {};
  uint8_t length[256] = {};

  constexpr Tables() {
    for (int16_t &byte : bytes)
      byte = -1;
    uint16_t next = 0x100;
    for (unsigned byte = 0; byte < 256; ++byte) {
      chars[byte] = isPrintable(byte) ? uint16_t(byte) : next++;
      bytes[chars[byte]] = int16_t(byte);
      if (chars[byte] < 0x80) {
        text[byte][0] = char(chars[byte]);
        length[byte] = 1;
      } else {
        text[byte][0] = char(0xc0 | chars[byte] >> 6);
        text[byte][1] = char(0x80 | (chars[byte] & 63));
        length[byte] = 2;
      }
    }
  }
};

} // namespace

static constexpr Tables byteTables;

Char attn::byteLevelChar(unsigned char byte) { return byteTables.chars[byte]; }

int attn::byteLevelByte(Char c) { return c < 0x144 ? byteTables.bytes[c] : -1; }

bool attn::appendByteLevel(Vector<char> &bytes, Slice token) {
  size_t before = bytes.size();
  for (size_t at = 0; at < token.size;) {
    size_t length = utf8Length(token.data + at, token.size - at);
    int byte = length ? byteLevelByte(decodeUtf8(token.data + at, length)) : -1;
    if (byte < 0) {
      while (bytes.size() > before)
        bytes.pop();
      return bytes.append(token.data, token.size);
    }
    if (!bytes.push(char(byte)))
      return false;
    at += length;
  }
  return true;
}

void attn::appendByteLevel(AlignedText &to, const AlignedText &from, size_t begin, size_t end) {
  while (begin < end) {
    size_t length;
    decodeUtf8(from.data() + begin, length);
    Range origin = from.originOf(begin, begin + length);
    for (size_t i = 0; i < length; ++i) {
      auto byte = static_cast<unsigned char>(from.data()[begin + i]);
      to.append(Slice(byteTables.text[byte], byteTables.length[byte]), origin);
    }
    begin += length;
  }
}
