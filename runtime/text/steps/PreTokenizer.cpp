// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The steps of pre-tokenizing. Those that only cut share Split: they are a pattern and a behaviour.
#include "text/steps/PreTokenizer.h"
#include "text/steps/ByteLevel.h"

using namespace attn;

const char attn::byteLevelExpression[] =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

/// A step that cuts at single characters.
static PreTokenizer cutAt(bool (*contains)(Char), SplitBehaviour behaviour) {
  PreTokenizer step;
  step.pattern.kind = Pattern::Set;
  step.pattern.contains = contains;
  step.behaviour = behaviour;
  return step;
}

static bool readBehaviour(ComponentReader &reader, JsonValue value, SplitBehaviour &behaviour) {
  static const struct {
    const char *names[2];
    SplitBehaviour behaviour;
  } known[] = {{{"Removed", "removed"}, SplitBehaviour::Removed},
               {{"Isolated", "isolated"}, SplitBehaviour::Isolated},
               {{"MergedWithPrevious", "merged_with_previous"}, SplitBehaviour::MergedWithPrevious},
               {{"MergedWithNext", "merged_with_next"}, SplitBehaviour::MergedWithNext},
               {{"Contiguous", "contiguous"}, SplitBehaviour::Contiguous}};
  JsonValue member = value.find("behavior");
  if (!member.isSet())
    return true;
  for (const auto &one : known)
    for (const char *name : one.names)
      if (member.isString() && member.text().is(name)) {
        behaviour = one.behaviour;
        return true;
      }
  return reader.fail(member, "expected Removed, Isolated, MergedWithPrevious, MergedWithNext or "
                             "Contiguous");
}

static bool readScheme(ComponentReader &reader, JsonValue value, PrependScheme &scheme) {
  JsonValue member = value.find("prepend_scheme");
  bool addsSpace = true;
  if (!reader.readFlag(value, "add_prefix_space", addsSpace))
    return false;
  if (!member.isSet()) {
    scheme = addsSpace ? PrependScheme::Always : PrependScheme::Never;
    return true;
  }
  Slice name = member.isString() ? member.text() : Slice();
  if (name.is("always"))
    scheme = PrependScheme::Always;
  else if (name.is("first"))
    scheme = PrependScheme::First;
  else if (name.is("never"))
    scheme = PrependScheme::Never;
  else
    return reader.fail(member, "expected always, first or never");
  return true;
}

static bool readMetaspace(ComponentReader &reader, JsonValue value, PreTokenizer &step) {
  step.kind = PreTokenizer::Metaspace;
  Char replacement;
  if (!reader.readCharacter(value, "replacement", replacement, true) ||
      !reader.readText(value, "replacement", step.replacement) ||
      !readScheme(reader, value, step.scheme) || !reader.readFlag(value, "split", step.splits))
    return false;
  step.pattern.string = step.replacement;
  step.behaviour = SplitBehaviour::MergedWithNext;
  return true;
}

/// The steps of a component that is no Sequence; none where the type is not known.
static bool readStep(ComponentReader &reader, JsonValue value, Slice type, PreTokenizer &step) {
  if (type.is("ByteLevel")) {
    step.kind = PreTokenizer::ByteLevel;
    step.addsSpace = step.usesRegex = true;
    return reader.readFlag(value, "add_prefix_space", step.addsSpace) &&
           reader.readFlag(value, "use_regex", step.usesRegex) &&
           (!step.usesRegex || reader.compile(byteLevelExpression, step.pattern));
  }
  if (type.is("Metaspace"))
    return readMetaspace(reader, value, step);
  if (type.is("Split"))
    return reader.readPattern(value, "pattern", step.pattern) &&
           readBehaviour(reader, value, step.behaviour) &&
           reader.readFlag(value, "invert", step.isInverted);
  if (type.is("Whitespace")) {
    step.behaviour = SplitBehaviour::Removed;
    step.isInverted = true;
    return reader.compile(
        R"([\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200c}\x{200d}]+|[^\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\x{200c}\x{200d}\s]+)",
        step.pattern);
  }
  if (type.is("WhitespaceSplit")) {
    step = cutAt(isSpace, SplitBehaviour::Removed);
    return true;
  }
  if (type.is("Punctuation")) {
    step = cutAt(isPunctuation, SplitBehaviour::Isolated);
    return readBehaviour(reader, value, step.behaviour);
  }
  if (type.is("Digits")) {
    bool isIndividual = false;
    if (!reader.readFlag(value, "individual_digits", isIndividual))
      return false;
    step = cutAt(isNumeric, isIndividual ? SplitBehaviour::Isolated : SplitBehaviour::Contiguous);
    return true;
  }
  if (type.is("CharDelimiterSplit")) {
    step = cutAt(nullptr, SplitBehaviour::Removed);
    return reader.readCharacter(value, "delimiter", step.pattern.character, true);
  }
  if (type.is("FixedLength")) {
    int64_t length = 5;
    step.kind = PreTokenizer::FixedLength;
    if (!reader.readInteger(value, "length", 1, INT32_MAX, length, false))
      return false;
    step.length = size_t(length);
    return true;
  }
  return reader.failUnknown(value, "pre-tokenizer",
                            "BertPreTokenizer, ByteLevel, CharDelimiterSplit, Digits, FixedLength, "
                            "Metaspace, Punctuation, Sequence, Split, Whitespace, WhitespaceSplit");
}

bool attn::readPreTokenizer(ComponentReader &reader, JsonValue value, Vector<PreTokenizer> &steps) {
  return reader.readSequence(value, "pretokenizers", [&](JsonValue one, Slice type) {
    if (type.is("BertPreTokenizer"))
      return (steps.push(cutAt(isSpace, SplitBehaviour::Removed)) &&
              steps.push(cutAt(isPunctuation, SplitBehaviour::Isolated))) ||
             reader.failMemory();
    PreTokenizer step;
    return readStep(reader, one, type, step) && (steps.push(step) || reader.failMemory());
  });
}

bool attn::makeByteLevel(ComponentReader &reader, const char *expression,
                         Vector<PreTokenizer> &steps) {
  PreTokenizer step;
  step.kind = PreTokenizer::ByteLevel;
  step.usesRegex = true;
  return reader.compile(expression, step.pattern) && (steps.push(step) || reader.failMemory());
}

/// Cuts a piece after every `length` characters.
static bool cutFixed(const AlignedText &text, Piece piece, size_t length, Vector<Piece> &pieces) {
  size_t begin = piece.begin, at = begin, count = 0;
  while (at < piece.end) {
    size_t bytes;
    decodeUtf8(text.data() + at, bytes);
    at += bytes;
    if (++count == length || at == piece.end) {
      if (!pieces.push({begin, at, -1}))
        return false;
      begin = at;
      count = 0;
    }
  }
  return true;
}

static Range firstOrigin(const AlignedText &text, Piece piece) {
  size_t length;
  decodeUtf8(text.data() + piece.begin, length);
  return text.originOf(piece.begin, piece.begin + length);
}

/// Maps the bytes of a piece, cut by the expression, to the alphabet.
static bool takeByteLevel(const PreTokenizer &step, const AlignedText &from, Piece piece,
                          Vector<Piece> &words, Pieces &to) {
  Slice text = from.slice().between(piece.begin, piece.end);
  AlignedText spaced;
  const AlignedText *source = &from;
  size_t offset = piece.begin;
  if (step.addsSpace && text.data[0] != ' ') {
    spaced.append(Slice(" ", 1), firstOrigin(from, piece));
    spaced.append(from, piece.begin, piece.end);
    if (!spaced.isGood)
      return false;
    source = &spaced;
    text = spaced.slice();
    offset = 0;
  }
  words.clear();
  if (!step.usesRegex)
    words.push({offset, offset + text.size, -1});
  else if (!splitText(text, offset, step.pattern, SplitBehaviour::Isolated, false, words))
    return false;
  for (Piece word : words) {
    size_t begin = to.text.size();
    appendByteLevel(to.text, *source, word.begin, word.end);
    if (!to.text.isGood || !to.pieces.push({begin, to.text.size(), -1}))
      return false;
  }
  return !words.empty();
}

static bool takeMetaspace(const PreTokenizer &step, const AlignedText &from, Piece piece,
                          Pieces &to) {
  Slice text = from.slice().between(piece.begin, piece.end);
  size_t begin = to.text.size();
  bool isMarked = text.data[0] == ' ' || text.startsWith(step.replacement);
  bool isFirst = from.originOf(piece.begin, piece.end).begin == 0;
  if (!isMarked &&
      (step.scheme == PrependScheme::Always || (step.scheme == PrependScheme::First && isFirst)))
    to.text.append(step.replacement, firstOrigin(from, piece));
  for (size_t at = piece.begin; at < piece.end; ++at) {
    if (from.data()[at] == ' ')
      to.text.append(step.replacement, from.originOf(at, at + 1));
    else
      to.text.append(from, at, at + 1);
  }
  if (!to.text.isGood)
    return false;
  if (!step.splits)
    return to.pieces.push({begin, to.text.size(), -1});
  Slice replaced = to.text.slice().between(begin, to.text.size());
  return splitText(replaced, begin, step.pattern, step.behaviour, false, to.pieces);
}

/// Takes a step that changes the text: from `from` to `to`.
static bool rewrite(const PreTokenizer &step, const Pieces &from, Pieces &to) {
  Vector<Piece> words;
  to.text.clear();
  to.text.reserve(from.text.size());
  to.pieces.clear();
  for (Piece piece : from.pieces) {
    if (piece.token >= 0) {
      size_t begin = to.text.size();
      to.text.append(from.text, piece.begin, piece.end);
      if (!to.text.isGood || !to.pieces.push({begin, to.text.size(), piece.token}))
        return false;
    } else if (step.kind == PreTokenizer::ByteLevel
                   ? !takeByteLevel(step, from.text, piece, words, to)
                   : !takeMetaspace(step, from.text, piece, to)) {
      return false;
    }
  }
  return true;
}

/// Takes a step that only cuts: from the pieces `from` to the pieces `to`.
static bool cut(const PreTokenizer &step, const Pieces &from, Vector<Piece> &to) {
  to.clear();
  for (Piece piece : from.pieces) {
    Slice text = from.text.slice().between(piece.begin, piece.end);
    bool isGood =
        piece.token >= 0 ? to.push(piece)
        : step.kind == PreTokenizer::FixedLength
            ? cutFixed(from.text, piece, step.length, to)
            : splitText(text, piece.begin, step.pattern, step.behaviour, step.isInverted, to);
    if (!isGood)
      return false;
  }
  return true;
}

bool attn::preTokenize(const Vector<PreTokenizer> &steps, Pieces &pieces, Pieces &scratch,
                       Growth &growth) {
  scratch.text.growth = &growth;
  for (size_t i = 0; i < steps.size(); ++i) {
    const PreTokenizer &step = steps[i];
    // Only these two make more of a text.
    growth.begin("pre-tokenizer", i + 1,
                 step.kind == PreTokenizer::ByteLevel ? "ByteLevel" : "Metaspace");
    if (step.kind == PreTokenizer::ByteLevel || step.kind == PreTokenizer::Metaspace) {
      if (!rewrite(step, pieces, scratch))
        return false;
      pieces.text.swap(scratch.text);
    } else if (!cut(step, pieces, scratch.pieces)) {
      return false;
    }
    pieces.pieces.swap(scratch.pieces);
  }
  return true;
}
