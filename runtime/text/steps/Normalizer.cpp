// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The steps of normalizing, each from one text to another.
#include "text/steps/Normalizer.h"
#include "text/steps/ByteLevel.h"
#include <utf8proc.h>

using namespace attn;

static bool readPrecompiled(ComponentReader &reader, JsonValue value, Normalizer &step) {
  Slice encoded, table;
  Vector<char> bytes;
  if (!reader.readText(value, "precompiled_charsmap", encoded, false))
    return false;
  if (!decodeBase64(encoded, bytes) || !reader.keep(Slice(bytes), table) ||
      !step.charsmap.open(table))
    return reader.fail(value.find("precompiled_charsmap"),
                       "expected a table of characters of SentencePiece in base64");
  return true;
}

static bool readBert(ComponentReader &reader, JsonValue value, Normalizer &step) {
  JsonValue accents = value.find("strip_accents");
  if (!reader.readFlag(value, "clean_text", step.cleans) ||
      !reader.readFlag(value, "handle_chinese_chars", step.spacesChinese) ||
      !reader.readFlag(value, "lowercase", step.lowers))
    return false;
  step.stripsAccents = step.lowers;
  return !accents.isSet() || reader.readFlag(value, "strip_accents", step.stripsAccents);
}

/// The names of the components, and the kinds of step that they are.
static const struct {
  const char *name;
  Normalizer::Kind kind;
} knownForms[] = {{"NFC", Normalizer::Form},
                  {"NFD", Normalizer::Form},
                  {"NFKC", Normalizer::Form},
                  {"NFKD", Normalizer::Form},
                  {"Lowercase", Normalizer::Lowercase},
                  {"StripAccents", Normalizer::StripAccents},
                  {"BertNormalizer", Normalizer::Bert},
                  {"Replace", Normalizer::Replace},
                  {"Prepend", Normalizer::Prepend},
                  {"Strip", Normalizer::Strip},
                  {"Nmt", Normalizer::Nmt},
                  {"Precompiled", Normalizer::Precompiled},
                  {"ByteLevel", Normalizer::ByteLevel}};

static bool readStep(ComponentReader &reader, JsonValue value, Slice type, Normalizer &step) {
  bool isKnown = false;
  for (const auto &one : knownForms)
    if (type.is(one.name)) {
      step.kind = one.kind;
      isKnown = true;
    }
  if (!isKnown)
    return reader.failUnknown(value, "normalizer",
                              "BertNormalizer, ByteLevel, Lowercase, NFC, NFD, NFKC, NFKD, Nmt, "
                              "Precompiled, Prepend, Replace, Sequence, Strip, StripAccents");
  switch (step.kind) {
  case Normalizer::Form:
    step.isComposed = type.endsWith(Slice("C"));
    step.isCompatible = type.startsWith(Slice("NFK"));
    return true;
  case Normalizer::Bert:
    return readBert(reader, value, step);
  case Normalizer::Replace:
    return reader.readPattern(value, "pattern", step.pattern) &&
           reader.readText(value, "content", step.content);
  case Normalizer::Prepend:
    return reader.readText(value, "prepend", step.content);
  case Normalizer::Strip:
    return reader.readFlag(value, "strip_left", step.stripsLeft) &&
           reader.readFlag(value, "strip_right", step.stripsRight);
  case Normalizer::Precompiled:
    return readPrecompiled(reader, value, step);
  default:
    return true;
  }
}

bool attn::readNormalizer(ComponentReader &reader, JsonValue value, Vector<Normalizer> &steps) {
  return reader.readSequence(value, "normalizers", [&](JsonValue one, Slice type) {
    Normalizer step;
    return readStep(reader, one, type, step) && (steps.push(step) || reader.failMemory());
  });
}

/// Calls `take` with each character and where it comes from.
template <typename Take> static void eachChar(const AlignedText &from, Take take) {
  for (size_t at = 0; at < from.size();) {
    size_t length;
    Char c = decodeUtf8(from.data() + at, length);
    take(c, from.originOf(at, at + length));
    at += length;
  }
}

static void appendLower(Char c, Range origin, AlignedText &to) {
  Char lower[2];
  size_t count = toLower(c, lower);
  for (size_t i = 0; i < count; ++i)
    to.append(lower[i], origin);
}

static void cleanBert(const Normalizer &step, const AlignedText &from, AlignedText &to) {
  eachChar(from, [&](Char c, Range origin) {
    if (step.cleans) {
      bool isBlank = c == '\t' || c == '\n' || c == '\r' || isSpace(c);
      if (c == 0 || c == 0xfffd || (isControl(c) && c != '\t' && c != '\n' && c != '\r'))
        return;
      c = isBlank ? ' ' : c;
    }
    bool isSpaced = step.spacesChinese && isChinese(c);
    if (isSpaced)
      to.append(' ', origin);
    to.append(c, origin);
    if (isSpaced)
      to.append(' ', origin);
  });
}

/// BERT's, in its order: cleaning, spaces around ideographs, accents, lower case.
static void takeBert(const Normalizer &step, const AlignedText &from, AlignedText &to) {
  AlignedText cleaned, bare;
  cleaned.reserve(from.size());
  cleanBert(step, from, cleaned);
  if (step.stripsAccents) {
    AlignedText decomposed;
    normalizeForm(cleaned, false, false, decomposed);
    eachChar(decomposed, [&](Char c, Range origin) {
      if (!isNonspacingMark(c))
        bare.append(c, origin);
    });
    bare.isGood = bare.isGood && decomposed.isGood;
  } else {
    bare.swap(cleaned);
  }
  if (step.lowers)
    eachChar(bare, [&](Char c, Range origin) { appendLower(c, origin, to); });
  else
    to.append(bare, 0, bare.size());
  to.isGood = to.isGood && cleaned.isGood && bare.isGood;
}

static void takeReplace(const Normalizer &step, const AlignedText &from, AlignedText &to) {
  Matcher matcher(step.pattern, from.slice());
  size_t begin, end, done = 0;
  while (matcher.next(begin, end) && to.isGood) {
    to.append(from, done, begin);
    // As in Hugging Face's library, from the last character that goes, or the one before.
    size_t length = 0;
    if (end > 0)
      decodeBefore(from.data(), end, length);
    to.append(step.content, from.originOf(end - length, end));
    done = end;
  }
  to.append(from, done, from.size());
  to.isGood = to.isGood && !matcher.hasFailed();
}

static void takeStrip(const Normalizer &step, const AlignedText &from, AlignedText &to) {
  size_t begin = 0, end = from.size(), length;
  while (step.stripsLeft && begin < end && isSpace(decodeUtf8(from.data() + begin, length)))
    begin += length;
  while (step.stripsRight && begin < end && isSpace(decodeBefore(from.data(), end, length)))
    end -= length;
  to.append(from, begin, end);
}

static void takeNmt(const AlignedText &from, AlignedText &to) {
  eachChar(from, [&](Char c, Range origin) {
    if ((c >= 1 && c <= 8) || c == 0xb || (c >= 0xe && c <= 0x1f) || c == 0x7f || c == 0x8f ||
        c == 0x9f)
      return;
    bool isBlank = c == 9 || c == 10 || c == 12 || c == 13 || c == 0x1680 ||
                   (c >= 0x200b && c <= 0x200f) || c == 0x2028 || c == 0x2029 || c == 0x2581 ||
                   c == 0xfeff || c == 0xfffd;
    to.append(isBlank ? Char(' ') : c, origin);
  });
}

/// The end of the grapheme that begins at `at`.
static size_t graphemeEnd(Slice text, size_t at) {
  utf8proc_int32_t state = 0;
  size_t length;
  Char before = decodeUtf8(text.data + at, length);
  at += length;
  while (at < text.size) {
    Char c = decodeUtf8(text.data + at, length);
    if (utf8proc_grapheme_break_stateful(utf8proc_int32_t(before), utf8proc_int32_t(c), &state))
      break;
    before = c;
    at += length;
  }
  return at;
}

/// Appends what stands for the characters of a range, one for one, as Hugging Face has it: what is
/// more comes from the last one.
static void appendInstead(Slice text, const AlignedText &from, size_t begin, size_t end,
                          AlignedText &to) {
  size_t length = 0, written;
  for (size_t at = 0; at < text.size; at += written) {
    begin += length;
    if (begin < end)
      decodeUtf8(from.data() + begin, length);
    else
      begin -= length;
    decodeUtf8(text.data + at, written);
    to.append(text.between(at, at + written), from.originOf(begin, begin + length));
  }
}

/// As Hugging Face has it: a grapheme below 6 bytes, else each of its characters, is looked up by
/// its shortest beginning.
static void takePrecompiled(const Normalizer &step, const AlignedText &from, AlignedText &to) {
  Slice text = from.slice(), found;
  size_t length;
  for (size_t at = 0; at < text.size;) {
    size_t end = graphemeEnd(text, at);
    if (end - at < 6 && step.charsmap.find(text.between(at, end), false, found, length)) {
      appendInstead(found, from, at, end, to);
      at = end;
      continue;
    }
    while (at < end) {
      decodeUtf8(text.data + at, length);
      size_t next = at + length;
      if (step.charsmap.find(text.between(at, next), false, found, length))
        appendInstead(found, from, at, next, to);
      else
        to.append(from, at, next);
      at = next;
    }
  }
}

/// What the text from `at` on begins with, normalized, and its length, as SentencePiece has it.
static Slice sentencePrefix(const Normalizer &step, Slice text, size_t &length) {
  Slice found;
  if (step.whole && step.whole->longest(text, length) >= 0)
    return {text.data, length};
  if (step.charsmap.find(text, true, found, length))
    return found;
  decodeUtf8(text.data, length);
  return {text.data, length};
}

/// Appends with U+2581 for spaces.
static void appendEscaped(const Normalizer &step, Slice text, Range origin, AlignedText &to) {
  size_t done = 0;
  for (size_t i = 0; step.escapes && i < text.size; ++i)
    if (text.data[i] == ' ') {
      to.append(text.between(done, i), origin);
      to.append(Slice("\xe2\x96\x81"), origin);
      done = i + 1;
    }
  to.append(text.from(done), origin);
}

static void takeSentencePiece(const Normalizer &step, const AlignedText &from, AlignedText &to) {
  Slice text = from.slice(), space(" "), written(step.escapes ? "\xe2\x96\x81" : " ");
  size_t at = 0, length;
  bool isBehindSpace = step.joinsSpaces;
  while (step.joinsSpaces && at < text.size && sentencePrefix(step, text.from(at), length) == space)
    at += length;
  if (at == text.size)
    return;
  bool isFirst = from.originOf(0, 1).begin == 0,
       isMarked = text.startsWith(space) || text.startsWith(written);
  bool isPrefixed =
      !step.isFirstOnly || (step.joinsSpaces ? isFirst || at > 0 : isFirst && !isMarked);
  if (step.addsSpace && isPrefixed && !step.isSpaceBehind)
    to.append(written, from.originOf(at, at));
  for (; at < text.size && to.isGood; at += length) {
    Slice piece = sentencePrefix(step, text.from(at), length);
    while (isBehindSpace && piece.startsWith(space))
      piece = piece.from(1);
    if (piece.size) {
      appendEscaped(step, piece, from.originOf(at, at + length), to);
      isBehindSpace = step.joinsSpaces && piece.endsWith(space);
    }
  }
  while (step.joinsSpaces && to.slice().endsWith(written))
    to.truncate(to.size() - written.size);
  if (step.addsSpace && step.isSpaceBehind)
    to.append(written, from.originOf(at, at));
}

static void take(const Normalizer &step, const AlignedText &from, AlignedText &to) {
  switch (step.kind) {
  case Normalizer::Form:
    return normalizeForm(from, step.isComposed, step.isCompatible, to);
  case Normalizer::Lowercase:
    return eachChar(from, [&](Char c, Range origin) { appendLower(c, origin, to); });
  case Normalizer::Uppercase:
    return eachChar(from, [&](Char c, Range origin) { to.append(toUpper(c), origin); });
  case Normalizer::StripAccents:
    return eachChar(from, [&](Char c, Range origin) {
      if (!isMark(c))
        to.append(c, origin);
    });
  case Normalizer::Bert:
    return takeBert(step, from, to);
  case Normalizer::Replace:
    return takeReplace(step, from, to);
  case Normalizer::Prepend: {
    size_t length = 0;
    if (from.size()) {
      decodeUtf8(from.data(), length);
      to.append(step.content, from.originOf(0, length));
    }
    return to.append(from, 0, from.size());
  }
  case Normalizer::Strip:
    return takeStrip(step, from, to);
  case Normalizer::Nmt:
    return takeNmt(from, to);
  case Normalizer::Precompiled:
    return takePrecompiled(step, from, to);
  case Normalizer::ByteLevel:
    return appendByteLevel(to, from, 0, from.size());
  case Normalizer::SentencePiece:
    return takeSentencePiece(step, from, to);
  }
}

/// What the component of a step is called; of a form, which one.
static const char *nameOf(const Normalizer &step) {
  if (step.kind == Normalizer::Form)
    return knownForms[(step.isCompatible ? 2 : 0) + (step.isComposed ? 0 : 1)].name;
  for (const auto &one : knownForms)
    if (one.kind == step.kind)
      return one.name;
  return "SentencePiece";
}

bool attn::normalize(const Vector<Normalizer> &steps, AlignedText &text, AlignedText &scratch,
                     Growth &growth) {
  for (size_t i = 0; i < steps.size(); ++i) {
    const Normalizer &step = steps[i];
    if (step.kind == Normalizer::Form &&
        isNormal(text.slice(), step.isComposed && !step.isCompatible))
      continue;
    growth.begin("normalizer", i + 1, nameOf(step));
    scratch.clear();
    scratch.isGood = text.isGood;
    scratch.growth = &growth;
    scratch.reserve(text.size());
    take(step, text, scratch);
    text.swap(scratch);
    if (!text.isGood)
      break;
  }
  scratch.growth = nullptr;
  return text.isGood;
}
