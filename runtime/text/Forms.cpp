// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Unicode's normal forms with alignment: a text is taken in runs that do not influence each other,
// a character and the marks behind it, each by utf8proc.
#include "text/Normalizer.h"
#include <utf8proc.h>

using namespace attn;

namespace {

/// A code point and where it comes from.
struct Decomposed {
  Char c;
  unsigned combining;
  Range origin;
};

} // namespace

/// Whether a character may join with one before it: marks, and the vowels and finals of Hangul.
static bool mayJoin(Char c) { return (c >= 0x1160 && c <= 0x11ff) || isMark(c); }

/// Whether a form leaves a character alone as it is; false where it takes a look.
static bool isStable(Char c, bool isNfc) {
  if (c < 0x80)
    return true;
  if (!isNfc)
    return c >= 0x4e00 && c <= 0x9fff;
  return c < 0x300 || (c >= 0x400 && c <= 0x482) || (c >= 0x3041 && c <= 0x3096) ||
         (c >= 0x30a1 && c <= 0x30fa) || (c >= 0x3400 && c <= 0x9fff) ||
         (c >= 0xac00 && c <= 0xd7a3) || (c >= 0x1f300 && c <= 0x1faff);
}

bool attn::isNormal(Slice text, bool isNfc) {
  for (size_t at = 0; at < text.size;) {
    size_t length;
    Char c = decodeUtf8(text.data + at, length);
    if (!isStable(c, isNfc))
      return false;
    at += length;
  }
  return true;
}

/// The characters that one decomposes to, and how many.
static size_t decomposeChar(Char c, bool isCompatible, utf8proc_int32_t (&parts)[32]) {
  int last = 0;
  auto options = utf8proc_option_t(UTF8PROC_DECOMPOSE | (isCompatible ? UTF8PROC_COMPAT : 0));
  utf8proc_ssize_t count = utf8proc_decompose_char(utf8proc_int32_t(c), parts, 32, options, &last);
  if (count > 0 && count <= 32)
    return size_t(count);
  parts[0] = utf8proc_int32_t(c); // none is that long
  return 1;
}

/// Appends what a character decomposes to, each mark behind those of a class that is not larger.
/// Marks that change places leave their origins, which stay in order.
static bool decompose(Char c, Range origin, bool isCompatible, Vector<Decomposed> &run) {
  utf8proc_int32_t parts[32];
  size_t count = decomposeChar(c, isCompatible, parts);
  for (size_t i = 0; i < count; ++i) {
    Char part = Char(parts[i]);
    unsigned combining = combiningClass(part);
    if (!run.push({part, combining, origin}))
      return false;
    size_t at = run.size() - 1;
    for (; combining && at > 0 && run[at - 1].combining > combining; --at) {
      run[at].c = run[at - 1].c;
      run[at].combining = run[at - 1].combining;
    }
    run[at].c = part;
    run[at].combining = combining;
  }
  return true;
}

/// Composes a run, and appends it. What characters became one comes from the first of them.
static bool appendComposed(const Vector<Decomposed> &run, Vector<utf8proc_int32_t> &buffer,
                           AlignedText &to) {
  buffer.clear();
  for (const Decomposed &part : run)
    if (!buffer.push(utf8proc_int32_t(part.c)))
      return false;
  utf8proc_ssize_t count =
      utf8proc_normalize_utf32(buffer.data(), utf8proc_ssize_t(buffer.size()),
                               utf8proc_option_t(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  size_t first = 0;
  for (utf8proc_ssize_t i = 0; i < count; ++i) {
    Char c = Char(buffer[size_t(i)]);
    utf8proc_int32_t parts[32];
    to.append(c, run[first < run.size() ? first : run.size() - 1].origin);
    first += decomposeChar(c, false, parts);
  }
  return count >= 0;
}

void attn::normalizeForm(const AlignedText &from, bool isComposed, bool isCompatible,
                         AlignedText &to) {
  Vector<Decomposed> run;
  Vector<utf8proc_int32_t> buffer;
  Slice text = from.slice();
  for (size_t at = 0; at < text.size && to.isGood;) {
    run.clear();
    bool isGood = true;
    do {
      size_t length;
      Char c = decodeUtf8(text.data + at, length);
      isGood = decompose(c, from.originOf(at, at + length), isCompatible, run);
      at += length;
      if (at < text.size)
        c = decodeUtf8(text.data + at, length);
      if (at == text.size || !mayJoin(c))
        break;
    } while (isGood);
    if (isGood && isComposed)
      isGood = appendComposed(run, buffer, to);
    else
      for (const Decomposed &part : run)
        to.append(part.c, part.origin);
    to.isGood = to.isGood && isGood;
  }
}
