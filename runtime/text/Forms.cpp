// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Unicode's normal forms with alignment: a text is taken in runs that do not influence each other,
// a character and the marks behind it, each by utf8proc.
#include "text/Normalizer.h"
#include <algorithm>
#include <utf8proc.h>

using namespace attn;

namespace {

/// A code point of a run, and where it comes from.
struct Decomposed {
  Char c;
  unsigned combining;
  bool isFirst; ///< of what its character decomposes to
  Range origin;
};

} // namespace

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

/// Whether a character may join with one before it: marks, and the vowels and finals of Hangul, or
/// what decomposes to one of these, as halfwidth characters do.
static bool mayJoin(Char c, bool isCompatible) {
  utf8proc_int32_t parts[32];
  if (isCompatible && c >= 0x3000)
    decomposeChar(c, true, parts);
  else
    parts[0] = utf8proc_int32_t(c);
  c = Char(parts[0]);
  return (c >= 0x1160 && c <= 0x11ff) || isMark(c);
}

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

/// Appends what a character decomposes to, each mark behind those of a class that is not larger.
static bool decompose(Char c, Range origin, bool isCompatible, Vector<Decomposed> &run) {
  utf8proc_int32_t parts[32];
  size_t count = decomposeChar(c, isCompatible, parts);
  for (size_t i = 0; i < count; ++i) {
    Decomposed part = {Char(parts[i]), combiningClass(Char(parts[i])), i == 0, origin};
    if (!run.push(part))
      return false;
    size_t at = run.size() - 1;
    for (; part.combining && at > 0 && run[at - 1].combining > part.combining; --at)
      run[at] = run[at - 1];
    run[at] = part;
  }
  return true;
}

/// Gives the origins of a run to its characters in their new order, as Hugging Face's library has
/// it: the first ones of each character's parts take them from front to back, the others are as
/// what stands before them.
static void alignRun(const Vector<Range> &origins, Vector<Decomposed> &run) {
  size_t next = 0;
  for (Decomposed &part : run) {
    next += part.isFirst;
    part.origin = origins[next > 0 ? next - 1 : 0];
  }
}

/// Composes a run, and appends it. What parts became one comes from the first of them that is the
/// first of its character.
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
    size_t end = std::min(run.size(), first + decomposeChar(c, false, parts));
    first = std::min(first, run.size() - 1);
    size_t from = first;
    while (from + 1 < end && !run[from].isFirst)
      ++from;
    to.append(c, run[run[from].isFirst ? from : first].origin);
    first = end;
  }
  return count >= 0;
}

void attn::normalizeForm(const AlignedText &from, bool isComposed, bool isCompatible,
                         AlignedText &to) {
  Vector<Decomposed> run;
  Vector<Range> origins;
  Vector<utf8proc_int32_t> buffer;
  Slice text = from.slice();
  for (size_t at = 0; at < text.size && to.isGood;) {
    run.clear();
    origins.clear();
    bool isGood = true;
    do {
      size_t length;
      Char c = decodeUtf8(text.data + at, length);
      Range origin = from.originOf(at, at + length);
      isGood = origins.push(origin) && decompose(c, origin, isCompatible, run);
      at += length;
      if (at < text.size)
        c = decodeUtf8(text.data + at, length);
      if (at == text.size || !mayJoin(c, isCompatible))
        break;
    } while (isGood);
    if (isGood)
      alignRun(origins, run);
    if (isGood && isComposed)
      isGood = appendComposed(run, buffer, to);
    else
      for (const Decomposed &part : run)
        to.append(part.c, part.origin);
    to.isGood = to.isGood && isGood;
  }
}
