// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What filters and methods of strings share.
#include "text/jinja/Interpreter.h"
#include "text/steps/Unicode.h"
#include <utf8proc.h>

using namespace attn;
using namespace attn::jinja;

bool jinja::replaceText(Interpreter &run, const Node *node, Slice text, Slice from, Slice to,
                        int64_t most, Value &result) {
  Vector<char> made;
  bool isGood = true;
  size_t at = 0;
  for (int64_t count = 0; isGood && (most < 0 || count < most); ++count) {
    size_t place = at, length = 0;
    if (from.size == 0) {
      // Before each character, and at the end.
      if (at > text.size || (count > 0 && at == text.size))
        break;
      if (count > 0)
        decodeUtf8(text.data + at, length);
      place = at + length;
    } else {
      auto *found = static_cast<const char *>(
          text.size > at ? memmem(text.data + at, text.size - at, from.data, from.size) : nullptr);
      if (!found)
        break;
      place = size_t(found - text.data);
    }
    if (!run.step(node, place - at + to.size))
      return false;
    isGood = append(made, text.between(at, place)) && append(made, to) &&
             made.size() < Memory::mostBytes / 4;
    at = place + from.size;
  }
  isGood = isGood && append(made, text.from(at));
  return isGood ? run.makeString(node, Slice(made), result) : run.noMemory(node);
}

bool jinja::joinTexts(Interpreter &run, const Node *node, const Value &list, Slice between,
                      Value &result) {
  Vector<char> text;
  for (size_t i = 0; i < list.size; ++i) {
    size_t before = text.size();
    if ((i && !append(text, between)) || !appendText(list.items[i], text) ||
        text.size() > Memory::mostBytes / 4)
      return list.items[i].kind > Kind::Dict
                 ? run.fail(node, "%s cannot be printed", nameOf(list.items[i]))
                 : run.noMemory(node);
    if (!run.step(node, text.size() - before))
      return false;
  }
  return run.makeString(node, Slice(text), result);
}

/// Appends a character in another case.
static bool appendCased(Char c, bool isUpper, Vector<char> &text) {
  char bytes[8];
  Char lower[2];
  if (!isUpper) {
    size_t count = toLower(c, lower);
    for (size_t i = 0; i < count; ++i)
      if (!text.append(bytes, encodeUtf8(lower[i], bytes)))
        return false;
    return true;
  }
  if (c == 0xdf)
    return append(text, Slice("SS"));
  return text.append(bytes, encodeUtf8(Char(utf8proc_toupper(utf8proc_int32_t(c))), bytes));
}

/// Whether a character has a case.
static bool isCased(Char c) {
  return utf8proc_isupper(utf8proc_int32_t(c)) || utf8proc_islower(utf8proc_int32_t(c));
}

bool jinja::changeCase(Interpreter &run, const Node *node, Slice text, Case to, Value &result) {
  Vector<char> made;
  bool isFirst = true;
  for (size_t at = 0, length; at < text.size; at += length) {
    Char c = decodeUtf8(text.data + at, length);
    bool isUpper = to == Case::Upper || (to != Case::Lower && isFirst);
    if (!appendCased(c, isUpper, made))
      return run.noMemory(node);
    isFirst = to == Case::Title && !isCased(c);
  }
  return run.makeString(node, Slice(made), result);
}
