// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A text on its way: added tokens, normalizer, pre-tokenizer, model, post-processor; and back.
#include "text/Tokenizer.h"
#include "base/Utf8.h"
#include <algorithm>

using namespace attn;

Tokenizer::~Tokenizer() {
  for (Pattern &pattern : regexes)
    freeRegex(pattern);
}

size_t Tokenizer::size() const {
  return std::max(numbers.size() ? numbers.size() : model.vocabulary.size(), added.end());
}

int32_t Tokenizer::outerId(int32_t id, Slice text) const {
  if (numbers.size() == 0)
    return id;
  int32_t number = numbers.find(id == model.unknown ? text : model.vocabulary.token(id));
  return number >= 0 ? number : numbers.find(model.vocabulary.token(model.unknown));
}

Slice Tokenizer::token(int64_t id) const {
  if (const AddedToken *token = added.find(id))
    return token->content;
  return numbers.size() ? numbers.token(id) : model.vocabulary.token(id);
}

int32_t Tokenizer::find(Slice token) const {
  int32_t id = added.find(token);
  return id >= 0 ? id : (numbers.size() ? numbers : model.vocabulary).find(token);
}

namespace {

/// The tokens of words that occurred before in the same text: a table in which a word has one
/// place, and later ones replace it.
class WordCache {
public:
  /// For a text of so many words; a short one has none.
  explicit WordCache(size_t words) {
    while (places < words && places < mostPlaces)
      places *= 2;
    if (words < fewWords || !entries.resize(places))
      entries.clear();
  }
  /// Appends the tokens of a word where they are known.
  bool find(Slice word, uint64_t hash, Vector<Token> &tokens) {
    if (entries.empty())
      return false;
    const Entry &entry = entries[hash & (places - 1)];
    if (entry.hash != hash || Slice(bytes.data() + entry.word, entry.size) != word)
      return false;
    return tokens.append(known.data() + entry.token, entry.count);
  }
  /// Remembers a word; where memory is lacking, or there are too many, it is forgotten.
  void add(Slice word, uint64_t hash, const Token *tokens, size_t count) {
    if (entries.empty() || word.size > longest || bytes.size() > mostBytes)
      return;
    Entry entry = {hash, uint32_t(bytes.size()), uint32_t(known.size()), uint32_t(word.size),
                   uint32_t(count)};
    if (append(bytes, word) && known.append(tokens, count))
      entries[hash & (places - 1)] = entry;
  }

private:
  static constexpr size_t fewWords = 32, mostPlaces = 1 << 15;
  static constexpr size_t longest = 256, mostBytes = 8 << 20;
  /// A word and its tokens.
  struct Entry {
    uint64_t hash;
    uint32_t word, token, size, count;
  };
  size_t places = fewWords; ///< a power of two
  Vector<Entry> entries;
  Vector<char> bytes;
  Vector<Token> known;
};

} // namespace

bool Tokenizer::prepare(Slice text, bool areSpecialText, Pieces &pieces, Growth &growth) const {
  Pieces scratch;
  scratch.text.growth = &growth;
  AlignedText section, other;
  pieces.text.assign(text);
  if (!pieces.text.isGood ||
      !added.split(pieces.text.slice(), 0, false, areSpecialText, pieces.pieces))
    return false;
  for (Piece piece : pieces.pieces) {
    size_t begin = scratch.text.size();
    section.clear();
    section.append(pieces.text, piece.begin, piece.end);
    if (piece.token < 0 && !normalize(normalizers, section, other, growth))
      return false;
    scratch.text.append(section, 0, section.size());
    if (!scratch.text.isGood)
      return false;
    Slice normal = scratch.text.slice().from(begin);
    if (piece.token >= 0 ? !scratch.pieces.push({begin, begin + normal.size, piece.token})
                         : !added.split(normal, begin, true, areSpecialText, scratch.pieces))
      return false;
  }
  pieces.text.swap(scratch.text);
  pieces.pieces.swap(scratch.pieces);
  return preTokenize(preTokenizers, pieces, scratch, growth);
}

Outcome Tokenizer::encodeText(Slice text, int32_t flags, Encoding &encoding, Growth &growth) const {
  Pieces pieces;
  bool areText = splitsSpecial || (flags & ATTN_TEXT_SPECIAL_AS_TEXT) != 0;
  if (!prepare(text, areText, pieces, growth))
    return growth.isSpent() ? Outcome::TooMuch : Outcome::NoMemory;
  WordCache cache(pieces.pieces.size());
  ModelScratch scratch;
  Vector<Token> tokens;
  for (Piece piece : pieces.pieces) {
    Slice word = pieces.text.slice().between(piece.begin, piece.end);
    if (piece.token >= 0) {
      Range range = pieces.text.originOf(piece.begin, piece.end);
      postProcessors.trim(word, text, encoding.size() == 0, range);
      if (!encoding.push(piece.token, 0, range))
        return Outcome::NoMemory;
      continue;
    }
    uint64_t hash = hashOf(word);
    tokens.clear();
    if (!cache.find(word, hash, tokens)) {
      if (Outcome outcome = encodeWord(model, word, scratch, tokens); outcome != Outcome::Good)
        return outcome;
      cache.add(word, hash, tokens.data(), tokens.size());
    }
    for (const Token &token : tokens) {
      Range range = pieces.text.originOf(piece.begin + token.begin, piece.begin + token.end);
      postProcessors.trim(model.vocabulary.token(token.id), text, encoding.size() == 0, range);
      int32_t id = outerId(token.id, word.between(token.begin, token.end));
      if (!encoding.push(id, 0, range))
        return Outcome::NoMemory;
    }
  }
  return Outcome::Good;
}

template <typename T> static void cutVector(Vector<T> &values, size_t length, bool isLeft) {
  if (isLeft && length)
    memmove(static_cast<void *>(values.data()), values.data() + values.size() - length,
            length * sizeof(T));
  while (values.size() > length)
    values.pop();
}

static void cut(Encoding &encoding, size_t length, bool isLeft) {
  if (encoding.size() <= length)
    return;
  cutVector(encoding.ids, length, isLeft);
  cutVector(encoding.types, length, isLeft);
  cutVector(encoding.ranges, length, isLeft);
  cutVector(encoding.origins, length, isLeft);
}

bool Tokenizer::truncate(Encoding *texts, bool isPair, size_t addedCount) const {
  size_t first = texts[0].size(), second = isPair ? texts[1].size() : 0;
  auto most = size_t(truncation.length);
  if (truncation.length == 0 || first + second + addedCount <= most)
    return true;
  most = most > addedCount ? most - addedCount : 0;
  size_t excess = first + second - most;
  switch (isPair ? truncation.strategy : Truncation::OnlyFirst) {
  case Truncation::OnlyFirst:
    if (isPair && first <= excess)
      return false;
    first -= excess;
    break;
  case Truncation::OnlySecond:
    if (second <= excess)
      return false;
    second -= excess;
    break;
  case Truncation::LongestFirst: {
    // The shorter one stays whole, or both get a half, the second one the odd token.
    size_t shorter = std::min(first, second);
    size_t half = most / 2;
    bool isFirstShorter = first <= second;
    size_t longer = shorter > most ? 0 : std::max(shorter, most - shorter);
    if (shorter > most || shorter + longer > most) {
      shorter = half;
      longer = most - half;
    }
    first = isFirstShorter ? shorter : longer;
    second = isFirstShorter ? longer : shorter;
    break;
  }
  }
  cut(texts[0], first, truncation.isLeft);
  cut(texts[1], second, truncation.isLeft);
  return true;
}

/// Moves what stands from `middle` on, which is all of one value, before what stands there.
template <typename T> static void moveToFront(Vector<T> &values, size_t middle) {
  if (middle == values.size())
    return;
  T value = values.back();
  size_t count = values.size() - middle;
  memmove(static_cast<void *>(values.data() + count), values.data(), middle * sizeof(T));
  for (size_t i = 0; i < count; ++i)
    values[i] = value;
}

bool Tokenizer::pad(Encoding &encoding) const {
  auto length = size_t(padding.length), multiple = size_t(padding.multiple);
  length = std::max(length, encoding.size());
  if (multiple > 1)
    length = (length + multiple - 1) / multiple * multiple;
  size_t before = encoding.size(), fill = length - before;
  for (size_t i = 0; i < fill; ++i)
    if (!encoding.push(padding.id, padding.type, {}, Origin::Padding))
      return false;
  if (padding.isLeft) {
    moveToFront(encoding.ids, before);
    moveToFront(encoding.types, before);
    moveToFront(encoding.ranges, before);
    moveToFront(encoding.origins, before);
  }
  return true;
}

attn_status Tokenizer::encode(Slice text, const Slice *second, int32_t flags, Encoding &encoding,
                              Error &error) const {
  Encoding texts[2];
  Slice inputs[2] = {text, second ? *second : Slice()};
  bool addsSpecial = (flags & ATTN_TEXT_ADD_SPECIAL) != 0;
  for (size_t i = 0; i < (second ? 2u : 1u); ++i) {
    if (inputs[i].size > INT32_MAX)
      return error.set(ATTN_BAD_INPUT, "R0704", "a text of %zu bytes; at most 2147483647 are taken",
                       inputs[i].size);
    Growth growth(Growth::aligned, inputs[i].size, normalizers.size() + preTokenizers.size());
    switch (encodeText(inputs[i], flags, texts[i], growth)) {
    case Outcome::Good:
      break;
    case Outcome::TooMuch:
      return growth.report(error);
    case Outcome::NoMemory:
      return error.outOfMemory("the tokens of a text, or too many steps of an expression");
    case Outcome::NoToken:
      return error.set(ATTN_BAD_INPUT, "R0704",
                       "a part of the text is in no token, and the vocabulary has none for what it "
                       "does not know");
    }
  }
  size_t count = addsSpecial ? postProcessors.countAdded(second != nullptr) : 0;
  if ((flags & ATTN_TEXT_TRUNCATE) && !truncate(texts, second != nullptr, count))
    return error.set(ATTN_BAD_INPUT, "R0704",
                     "the text that is to be cut to %lld tokens is shorter than what is too much",
                     static_cast<long long>(truncation.length));
  size_t joined = postProcessors.countJoined(texts, second != nullptr, addsSpecial);
  if (joined > Growth::mostTokensOfText && joined / 16 > texts[0].size() + texts[1].size())
    return error.set(ATTN_BAD_INPUT, "R0709", "the post-processor makes %zu tokens of %zu", joined,
                     texts[0].size() + texts[1].size());
  if ((flags & ATTN_TEXT_PAD) && size_t(padding.length) > Growth::mostTokensOfText)
    return error.set(ATTN_BAD_INPUT, "R0709", "`padding` to %lld tokens; at most %zu are done",
                     static_cast<long long>(padding.length), Growth::mostTokensOfText);
  bool isGood = postProcessors.join(texts, second != nullptr, addsSpecial, encoding);
  if (!isGood || ((flags & ATTN_TEXT_PAD) && !pad(encoding)))
    return error.outOfMemory("the tokens of a text");
  return ATTN_OK;
}

/// Appends text with U+FFFD for what is not UTF-8.
static bool appendLossy(Slice text, Vector<char> &to) {
  for (size_t at = 0; at < text.size;) {
    size_t begin = at, length;
    while (at < text.size && (length = utf8Length(text.data + at, text.size - at)) != 0)
      at += length;
    if (!append(to, text.between(begin, at)))
      return false;
    if (at < text.size) {
      if (!append(to, Slice("\xef\xbf\xbd")))
        return false;
      at += invalidLength(text.data + at, text.size - at);
    }
  }
  return true;
}

attn_status Tokenizer::decode(const int32_t *ids, size_t count, bool skipsSpecial, bool isLossy,
                              Vector<char> &text, Error &error) const {
  Strings parts, scratch;
  Growth growth(Growth::decoded, 8 * count, decoders.size());
  int32_t unknown = model.unknown >= 0 ? outerId(model.unknown, Slice()) : -1;
  Slice before;
  for (size_t i = 0; i < count; ++i) {
    Slice bytes = token(ids[i]);
    if (skipsSpecial && added.isSpecial(ids[i]) && !isBlank(ids[i]))
      continue;
    if (ids[i] < 0)
      return error.set(ATTN_BAD_INPUT, "R0704", "%d is no token", int(ids[i]));
    if (collapses) {
      bytes = bytes.data ? bytes : unknownText;
      bool isRepeated = before.data && bytes.data && bytes == before;
      before = bytes;
      if (isRepeated || isBlank(ids[i]))
        continue;
    }
    // A model may have more rows than its vocabulary has tokens; they stand for no text.
    if (bytes.data == nullptr)
      continue;
    if (unknownText.data && ids[i] == unknown)
      bytes = unknownText;
    if (!growth.take(bytes.size + 1))
      return growth.report(error);
    if (!hasDecoder && parts.count() && !append(parts.bytes, Slice(" ")))
      return error.outOfMemory("a text");
    if (!parts.push(bytes))
      return error.outOfMemory("a text");
  }
  if (!decodeStrings(decoders, isLossy, parts, scratch, growth))
    return growth.isSpent() ? growth.report(error) : error.outOfMemory("a text");
  bool isGood = isLossy ? appendLossy(Slice(parts.bytes), text) : append(text, Slice(parts.bytes));
  return isGood ? ATTN_OK : error.outOfMemory("a text");
}
