// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The steps of decoding, each from the strings of tokens to others.
#include "text/steps/Decoder.h"
#include "base/Utf8.h"
#include "text/steps/ByteLevel.h"
#include <algorithm>

using namespace attn;

static bool readStep(ComponentReader &reader, JsonValue value, Slice type, Decoder &step) {
  if (type.is("ByteLevel")) {
    step.kind = Decoder::ByteLevel;
    return true;
  }
  if (type.is("ByteFallback") || type.is("Fuse")) {
    step.kind = type.is("Fuse") ? Decoder::Fuse : Decoder::ByteFallback;
    return true;
  }
  if (type.is("WordPiece")) {
    step.kind = Decoder::WordPiece;
    step.content = Slice("##");
    step.cleansUp = true;
    return reader.readText(value, "prefix", step.content, false) &&
           reader.readFlag(value, "cleanup", step.cleansUp);
  }
  if (type.is("Metaspace")) {
    step.kind = Decoder::Metaspace;
    JsonValue scheme = value.find("prepend_scheme");
    if (!reader.readText(value, "replacement", step.content) ||
        !reader.readFlag(value, "add_prefix_space", step.dropsFirst))
      return false;
    if (scheme.isString())
      step.dropsFirst = !scheme.text().is("never");
    return true;
  }
  if (type.is("Strip")) {
    int64_t start = 0, stop = 0;
    step.kind = Decoder::Strip;
    if (!reader.readText(value, "content", step.content) ||
        !reader.readInteger(value, "start", 0, INT32_MAX, start) ||
        !reader.readInteger(value, "stop", 0, INT32_MAX, stop))
      return false;
    step.start = size_t(start);
    step.stop = size_t(stop);
    return true;
  }
  if (type.is("Replace")) {
    step.kind = Decoder::Replace;
    return reader.readPattern(value, "pattern", step.pattern) &&
           reader.readText(value, "content", step.content);
  }
  if (type.is("BPEDecoder")) {
    step.kind = Decoder::Bpe;
    step.content = Slice("</w>");
    return reader.readText(value, "suffix", step.content, false);
  }
  if (type.is("CTC")) {
    step.kind = Decoder::Ctc;
    step.content = Slice("<pad>");
    step.delimiter = Slice("|");
    step.cleansUp = true;
    return reader.readText(value, "pad_token", step.content, false) &&
           reader.readText(value, "word_delimiter_token", step.delimiter, false) &&
           reader.readFlag(value, "cleanup", step.cleansUp);
  }
  return reader.failUnknown(value, "decoder",
                            "BPEDecoder, ByteFallback, ByteLevel, CTC, Fuse, Metaspace, Replace, "
                            "Sequence, Strip, WordPiece");
}

bool attn::readDecoder(ComponentReader &reader, JsonValue value, Vector<Decoder> &steps) {
  return reader.readSequence(value, "decoders", [&](JsonValue one, Slice type) {
    Decoder step;
    return readStep(reader, one, type, step) && (steps.push(step) || reader.failMemory());
  });
}

/// Appends `text` with every `what` replaced by `by`.
static bool appendReplaced(Slice text, Slice what, Slice by, Vector<char> &to) {
  while (text.size && what.size) {
    const void *found = memmem(text.data, text.size, what.data, what.size);
    if (!found)
      break;
    size_t at = size_t(static_cast<const char *>(found) - text.data);
    if (!append(to, text.between(0, at)) || !append(to, by))
      return false;
    text = text.from(at + what.size);
  }
  return append(to, text);
}

/// What becomes of spaces before punctuation and short forms, in this order.
static const char *const tidied[][2] = {
    {" .", "."},     {" ?", "?"},   {" !", "!"},   {" ,", ","},     {" ' ", "'"},
    {" n't", "n't"}, {" 'm", "'m"}, {" 's", "'s"}, {" 've", "'ve"}, {" 're", "'re"}};
static const char *const joinedNot[] = {" do not", " don't"};

/// Replaces one string by another from `begin` on, in place.
static bool replaceIn(Vector<char> &text, size_t begin, const char *const (&pair)[2]) {
  Vector<char> changed;
  if (!appendReplaced(Slice(text).from(begin), Slice(pair[0]), Slice(pair[1]), changed) ||
      !text.resize(begin + changed.size()))
    return false;
  if (!changed.empty())
    memcpy(text.data() + begin, changed.data(), changed.size());
  return true;
}

/// English as people write it: no spaces before punctuation and short forms.
static bool tidy(Vector<char> &text, size_t begin) {
  for (const auto &pair : tidied)
    if (!replaceIn(text, begin, pair))
      return false;
  return true;
}

/// The same as Hugging Face's decoders have it, with one pair more than its classes.
static bool cleanUp(Vector<char> &text, size_t begin) {
  return tidy(text, begin) && replaceIn(text, begin, joinedNot);
}

size_t attn::openSpaces(Slice text) {
  for (size_t size = text.size < 4 ? text.size : 4; size > 0; --size)
    for (const auto &pair : tidied)
      if (Slice(pair[0]).startsWith(text.from(text.size - size)))
        return size;
  return 0;
}

static bool takeWordPiece(const Decoder &step, const Strings &from, Strings &to) {
  for (size_t i = 0; i < from.count(); ++i) {
    Slice token = from.at(i);
    size_t begin = to.bytes.size();
    if (i > 0 && token.startsWith(step.content))
      token = token.from(step.content.size);
    else if (i > 0 && !to.bytes.push(' '))
      return false;
    if (!append(to.bytes, token) || (step.cleansUp && !cleanUp(to.bytes, begin)) || !to.finish())
      return false;
  }
  return true;
}

/// The byte of a token <0xF0>, or -1.
static int byteOf(Slice token) {
  if (token.size != 6 || !token.startsWith(Slice("<0x")) || token.data[5] != '>')
    return -1;
  int byte = 0;
  for (size_t i = 3; i < 5; ++i) {
    char c = token.data[i];
    int digit = c >= '0' && c <= '9'   ? c - '0'
                : c >= 'A' && c <= 'F' ? c - 'A' + 10
                : c >= 'a' && c <= 'f' ? c - 'a' + 10
                                       : -1;
    if (digit < 0)
      return -1;
    byte = 16 * byte + digit;
  }
  return byte;
}

static bool takeByteFallback(bool isLossy, const Strings &from, Strings &to) {
  Vector<char> run;
  for (size_t i = 0; i <= from.count(); ++i) {
    int byte = i < from.count() ? byteOf(from.at(i)) : -1;
    if (byte >= 0) {
      if (!run.push(char(byte)))
        return false;
      continue;
    }
    if (!run.empty()) {
      if (!isLossy || isUtf8(Slice(run))) {
        if (!to.push(Slice(run)))
          return false;
      } else {
        for (size_t k = 0; k < run.size(); ++k)
          if (!to.push(Slice("\xef\xbf\xbd")))
            return false;
      }
      run.clear();
    }
    if (i < from.count() && !to.push(from.at(i)))
      return false;
  }
  return true;
}

static bool takeStrip(const Decoder &step, const Strings &from, Strings &to) {
  for (size_t i = 0; i < from.count(); ++i) {
    Slice token = from.at(i);
    for (size_t k = 0; k < step.start && step.content.size && token.startsWith(step.content); ++k)
      token = token.from(step.content.size);
    for (size_t k = 0; k < step.stop && step.content.size && token.endsWith(step.content); ++k)
      token.size -= step.content.size;
    if (!to.push(token))
      return false;
  }
  return true;
}

/// SentencePiece's beginning of a text: the space that a piece begins with goes, of the first one,
/// or of all up to where there is text.
static bool takeLead(const Decoder &step, const Strings &from, Strings &to) {
  bool hasGone = false;
  for (size_t i = 0; i < from.count(); ++i) {
    Slice token = from.at(i);
    bool goes = to.bytes.empty() && !hasGone && token.startsWith(step.content);
    hasGone = hasGone || (goes && !step.isRepeated);
    if (!to.push(token.from(goes ? step.content.size : 0)))
      return false;
  }
  return true;
}

static bool takeReplace(const Decoder &step, const Strings &from, Strings &to, Growth &growth) {
  for (size_t i = 0; i < from.count(); ++i) {
    Slice token = from.at(i);
    if (step.pattern.kind == Pattern::Regex && !isUtf8(token)) {
      if (!to.push(token))
        return false;
      continue;
    }
    Matcher matcher(step.pattern, token);
    size_t begin, end, done = 0;
    while (matcher.next(begin, end)) {
      if (!growth.take(begin - done + step.content.size) ||
          !append(to.bytes, token.between(done, begin)) || !append(to.bytes, step.content))
        return false;
      done = end;
    }
    if (matcher.hasFailed() || !append(to.bytes, token.from(done)) || !to.finish())
      return false;
  }
  return true;
}

static bool takeDelimiter(const Decoder &step, const Strings &from, Strings &to) {
  for (size_t i = 0; i < from.count(); ++i)
    if (!to.push(from.at(i) == step.delimiter ? step.content : from.at(i)))
      return false;
  return true;
}

/// Bytes that are not UTF-8 stay as they are.
static bool takeLowercase(const Strings &from, Strings &to) {
  for (size_t i = 0; i < from.count(); ++i) {
    Slice token = from.at(i);
    for (size_t at = 0, length; at < token.size; at += length) {
      length = utf8Length(token.data + at, token.size - at);
      if (!length) {
        if (!to.bytes.push(token.data[at]))
          return false;
        length = 1;
        continue;
      }
      Char lower[2];
      char bytes[8];
      size_t size = 0, count = toLower(decodeUtf8(token.data + at, length), lower);
      for (size_t k = 0; k < count; ++k)
        size += encodeUtf8(lower[k], bytes + size);
      if (!to.bytes.append(bytes, size))
        return false;
    }
    if (!to.finish())
      return false;
  }
  return true;
}

static bool takeMetaspace(const Decoder &step, const Strings &from, Strings &to) {
  for (size_t i = 0; i < from.count(); ++i) {
    // Of the first token every such character goes, as in Hugging Face's decoder.
    Slice by = i == 0 && step.dropsFirst ? Slice("", size_t(0)) : Slice(" ");
    if (!appendReplaced(from.at(i), step.content, by, to.bytes) || !to.finish())
      return false;
  }
  return true;
}

static bool takeBpe(const Decoder &step, const Strings &from, Strings &to) {
  for (size_t i = 0; i < from.count(); ++i) {
    Slice by = i + 1 == from.count() ? Slice("", size_t(0)) : Slice(" ");
    if (!appendReplaced(from.at(i), step.content, by, to.bytes) || !to.finish())
      return false;
  }
  return true;
}

static bool takeCtc(const Decoder &step, const Strings &from, Strings &to) {
  for (size_t i = 0; i < from.count(); ++i) {
    Slice token = from.at(i);
    if (i > 0 && from.at(i - 1) == token)
      continue;
    size_t begin = to.bytes.size();
    if (!appendReplaced(token, step.content, Slice("", size_t(0)), to.bytes))
      return false;
    if (step.cleansUp) {
      Vector<char> cleaned;
      if (!cleanUp(to.bytes, begin) ||
          !appendReplaced(Slice(to.bytes).from(begin), step.delimiter, Slice(" "), cleaned) ||
          !to.bytes.resize(begin) || !append(to.bytes, Slice(cleaned)))
        return false;
    }
    if (to.bytes.size() > begin && !to.finish())
      return false;
  }
  return true;
}

/// One string of all: their bytes as they are, or those that the characters of ByteLevel stand for.
static bool takeWhole(bool isByteLevel, const Strings &from, Strings &to) {
  for (size_t i = 0; i < from.count(); ++i)
    if (isByteLevel ? !appendByteLevel(to.bytes, from.at(i)) : !append(to.bytes, from.at(i)))
      return false;
  return to.finish();
}

/// What the component of a step is called.
static const char *nameOf(const Decoder &step) {
  static const char *const names[] = {
      "ByteLevel",  "WordPiece", "Metaspace", "ByteFallback", "Fuse",      "Strip",  "Replace",
      "BPEDecoder", "CTC",       "Lead",      "Delimiter",    "Lowercase", "CleanUp"};
  return names[step.kind];
}

static bool take(const Decoder &step, bool isLossy, const Strings &from, Strings &to,
                 Growth &growth) {
  switch (step.kind) {
  case Decoder::ByteLevel:
    return takeWhole(true, from, to);
  case Decoder::Fuse:
    return takeWhole(false, from, to);
  case Decoder::WordPiece:
    return takeWordPiece(step, from, to);
  case Decoder::Metaspace:
    return takeMetaspace(step, from, to);
  case Decoder::ByteFallback:
    return takeByteFallback(isLossy, from, to);
  case Decoder::Strip:
    return takeStrip(step, from, to);
  case Decoder::Replace:
    return takeReplace(step, from, to, growth);
  case Decoder::Bpe:
    return takeBpe(step, from, to);
  case Decoder::Lead:
    return takeLead(step, from, to);
  case Decoder::Ctc:
    return takeCtc(step, from, to);
  case Decoder::Delimiter:
    return takeDelimiter(step, from, to);
  case Decoder::Lowercase:
    return takeLowercase(from, to);
  case Decoder::CleanUp:
    return append(to.bytes, Slice(from.bytes)) && tidy(to.bytes, 0) && to.finish();
  }
  return false;
}

bool attn::decodeStrings(const Vector<Decoder> &steps, bool isLossy, Strings &strings,
                         Strings &scratch, Growth &growth) {
  for (size_t i = 0; i < steps.size(); ++i) {
    // Only Replace makes more of a text; the others take time for what they are given.
    growth.begin("decoder", i + 1, nameOf(steps[i]));
    scratch.clear();
    if (!growth.take(strings.bytes.size()) || !take(steps[i], isLossy, strings, scratch, growth))
      return false;
    strings.swap(scratch);
  }
  return true;
}
