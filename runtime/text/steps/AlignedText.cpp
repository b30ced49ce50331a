// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Bytes and their origins, two arrays of one length.
#include "text/steps/AlignedText.h"
#include "base/Utf8.h"

using namespace attn;

void AlignedText::clear() {
  bytes.clear();
  origins.clear();
}

void AlignedText::reserve(size_t size) {
  isGood = isGood && bytes.reserve(size) && origins.reserve(size);
}

void AlignedText::swap(AlignedText &other) noexcept {
  bytes.swap(other.bytes);
  origins.swap(other.origins);
  bool isOtherGood = other.isGood;
  other.isGood = isGood;
  isGood = isOtherGood;
}

void AlignedText::assign(Slice text) {
  clear();
  isGood = true;
  reserve(text.size);
  for (size_t at = 0; at < text.size && isGood;) {
    size_t length = utf8Length(text.data + at, text.size - at);
    if (length) {
      append(Slice(text.data + at, length), {uint32_t(at), uint32_t(at + length)});
    } else {
      length = invalidLength(text.data + at, text.size - at);
      append(Slice("\xef\xbf\xbd"), {uint32_t(at), uint32_t(at + length)});
    }
    at += length;
  }
}

Range AlignedText::originOf(size_t begin, size_t end) const {
  if (begin < end)
    return {origins[begin].begin, origins[end - 1].end};
  if (begin < origins.size())
    return {origins[begin].begin, origins[begin].begin};
  uint32_t last = origins.empty() ? 0 : origins[origins.size() - 1].end;
  return {last, last};
}

void AlignedText::truncate(size_t size) {
  while (bytes.size() > size)
    bytes.pop();
  while (origins.size() > size)
    origins.pop();
}

void AlignedText::append(Slice text, Range origin) {
  size_t before = bytes.size();
  isGood = isGood && (!growth || growth->take(text.size)) && bytes.append(text.data, text.size);
  for (size_t i = 0; i < text.size && isGood; ++i)
    isGood = origins.push(origin);
  if (!isGood)
    truncate(before);
}

void AlignedText::append(Char c, Range origin) {
  char text[4];
  append(Slice(text, encodeUtf8(c, text)), origin);
}

void AlignedText::append(const AlignedText &other, size_t begin, size_t end) {
  size_t before = bytes.size();
  isGood = isGood && other.isGood && (!growth || growth->take(end - begin)) &&
           bytes.append(other.bytes.data() + begin, end - begin) &&
           origins.append(other.origins.data() + begin, end - begin);
  if (!isGood)
    truncate(before);
}
