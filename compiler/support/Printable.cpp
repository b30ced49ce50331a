// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Character by character; most texts stay as they are.
#include "compiler/support/Printable.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ConvertUTF.h"

using namespace llvm;

namespace attn {

/// The code point at the front of a text, and its bytes; nothing where it is no UTF-8.
static std::optional<std::pair<UTF32, size_t>> frontOf(StringRef text) {
  auto *at = reinterpret_cast<const UTF8 *>(text.data());
  const UTF8 *begin = at;
  UTF32 point = 0;
  if (convertUTF8Sequence(&at, begin + text.size(), &point, strictConversion) != conversionOK)
    return std::nullopt;
  return std::pair(point, static_cast<size_t>(at - begin));
}

static bool isControl(UTF32 point) {
  if (point == '\n' || point == '\t')
    return false;
  return point < 0x20 || (point >= 0x7f && point < 0xa0) || (point >= 0x202a && point <= 0x202e) ||
         (point >= 0x2066 && point <= 0x2069);
}

std::string printable(StringRef text) {
  std::string result;
  while (!text.empty()) {
    auto front = frontOf(text);
    size_t size = front ? front->second : 1;
    StringRef character = text.take_front(size);
    text = text.drop_front(size);
    if (front && !isControl(front->first)) {
      result += character;
      continue;
    }
    for (char byte : character)
      result += "\\x" + toHex(StringRef(&byte, 1), /*LowerCase=*/true);
  }
  return result;
}

} // namespace attn
