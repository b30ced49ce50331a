// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Unicode's normal forms with alignment: a text is taken in runs that do not influence each other,
// a character and the marks behind it, each by utf8proc.
#include "text/steps/Normalizer.h"
#include <algorithm>
#include <utf8proc.h>

using namespace attn;

namespace {

/// A code point of a run.
struct Decomposed {
  Char c;
  unsigned combining;
  bool isFirst; ///< of what its character decomposes to
  bool isTaken; ///< has become part of a composed one
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

/// Appends what a character decomposes to.
static bool decompose(Char c, bool isCompatible, Vector<Decomposed> &run) {
  utf8proc_int32_t parts[32];
  size_t count = decomposeChar(c, isCompatible, parts);
  for (size_t i = 0; i < count; ++i)
    if (!run.push({Char(parts[i]), combiningClass(Char(parts[i])), i == 0, false}))
      return false;
  return true;
}

/// Puts the marks from `begin` to before `end` into the order of their classes; those of a class
/// stay in order. Texts with a million marks on a letter take no longer than others.
static bool sortMarks(Vector<Decomposed> &run, size_t begin, size_t end,
                      Vector<Decomposed> &scratch) {
  size_t places[257] = {};
  for (size_t i = begin; i < end; ++i)
    ++places[run[i].combining + 1];
  for (size_t i = 1; i < 257; ++i)
    places[i] += places[i - 1];
  if (!scratch.resize(end - begin))
    return false;
  for (size_t i = begin; i < end; ++i)
    scratch[places[run[i].combining]++] = run[i];
  for (size_t i = begin; i < end; ++i)
    run[i] = scratch[i - begin];
  return true;
}

/// Unicode's canonical order of a run.
static bool sortRun(Vector<Decomposed> &run, Vector<Decomposed> &scratch) {
  for (size_t begin = 0, end; begin < run.size(); begin = end) {
    bool isSorted = true;
    for (end = begin + 1; run[begin].combining && end < run.size() && run[end].combining; ++end)
      isSorted = isSorted && run[end - 1].combining <= run[end].combining;
    if (!isSorted && !sortMarks(run, begin, end, scratch))
      return false;
  }
  return true;
}

namespace {

/// Gives origins to the characters of a run, as Hugging Face's library has it: of each character's
/// parts, the first one in the new order takes the next character of the text, and the others are
/// as what stands before them.
class Aligner {
public:
  explicit Aligner(const Vector<Range> &origins) : origins(origins) {}
  /// The origin of what became of parts, of which `firsts` are the first of their characters.
  Range next(size_t firsts) {
    size_t at = firsts ? taken : taken - std::min(taken, size_t(1));
    taken += firsts;
    return origins[std::min(at, origins.size() - 1)];
  }

private:
  const Vector<Range> &origins;
  size_t taken = 0;
};

} // namespace

/// Takes from a run, from `begin` on, the parts that a composed character has; how many of them are
/// the first of their characters.
static size_t takeParts(Char c, Vector<Decomposed> &run, size_t &begin) {
  utf8proc_int32_t parts[32];
  size_t count = decomposeChar(c, false, parts), firsts = 0;
  for (size_t i = 0; i < count; ++i)
    for (size_t at = begin; at < run.size(); ++at)
      if (!run[at].isTaken && run[at].c == Char(parts[i])) {
        run[at].isTaken = true;
        firsts += run[at].isFirst;
        break;
      }
  while (begin < run.size() && run[begin].isTaken)
    ++begin;
  return firsts;
}

/// Composes a run, and appends it.
static bool appendComposed(Vector<Decomposed> &run, const Vector<Range> &origins,
                           Vector<utf8proc_int32_t> &buffer, AlignedText &to) {
  buffer.clear();
  for (const Decomposed &part : run)
    if (!buffer.push(utf8proc_int32_t(part.c)))
      return false;
  utf8proc_ssize_t count =
      utf8proc_normalize_utf32(buffer.data(), utf8proc_ssize_t(buffer.size()),
                               utf8proc_option_t(UTF8PROC_STABLE | UTF8PROC_COMPOSE));
  Aligner aligner(origins);
  size_t begin = 0;
  for (utf8proc_ssize_t i = 0; i < count; ++i) {
    Char c = Char(buffer[size_t(i)]);
    to.append(c, aligner.next(takeParts(c, run, begin)));
  }
  return count >= 0;
}

void attn::normalizeForm(const AlignedText &from, bool isComposed, bool isCompatible,
                         AlignedText &to) {
  Vector<Decomposed> run, scratch;
  Vector<Range> origins;
  Vector<utf8proc_int32_t> buffer;
  Slice text = from.slice();
  for (size_t at = 0; at < text.size && to.isGood;) {
    run.clear();
    origins.clear();
    bool isGood = true, goesOn = true;
    while (goesOn && isGood) {
      size_t length;
      Char c = decodeUtf8(text.data + at, length);
      isGood = origins.push(from.originOf(at, at + length)) && decompose(c, isCompatible, run);
      at += length;
      goesOn = at < text.size && mayJoin(decodeUtf8(text.data + at, length), isCompatible);
    }
    isGood = isGood && sortRun(run, scratch);
    if (isGood && isComposed) {
      isGood = appendComposed(run, origins, buffer, to);
    } else {
      Aligner aligner(origins);
      for (const Decomposed &part : run)
        to.append(part.c, aligner.next(part.isFirst));
    }
    to.isGood = to.isGood && isGood;
  }
}
