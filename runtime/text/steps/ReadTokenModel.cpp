// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The `model` of a tokenizer.json: vocabulary, merges, scores and options.
#include "text/steps/TokenModel.h"

using namespace attn;

bool attn::readVocabularyObject(ComponentReader &reader, JsonValue object, Vocabulary &vocabulary) {
  if (!vocabulary.reserve(object.count()))
    return reader.failMemory();
  for (JsonValue one = object.first(); one.exists(); one = one.next()) {
    int64_t id;
    if (!one.integer(0, maxTokens - 1, id))
      return reader.fail(one, "expected an id from 0 to %lld",
                         static_cast<long long>(maxTokens - 1));
    if (!vocabulary.add(int32_t(id), one.key()))
      return reader.failMemory();
  }
  return true;
}

static bool readVocabulary(ComponentReader &reader, JsonValue value, Model &model) {
  JsonValue vocabulary = value.find("vocab");
  return vocabulary.isObject() ? readVocabularyObject(reader, vocabulary, model.vocabulary)
                               : reader.fail(value, "expected an object `vocab`");
}

/// The token named by the member `unk_token`; an error where the vocabulary lacks it.
static bool readUnknown(ComponentReader &reader, JsonValue value, Model &model) {
  JsonValue member = value.find("unk_token");
  if (!member.isSet())
    return true;
  if (!member.isString())
    return reader.fail(member, "expected a string");
  model.unknown = model.vocabulary.find(member.text());
  // Files of byte-level BPE name one that they do not have, and never need.
  if (model.unknown < 0 && model.kind == Model::WordLevel)
    return reader.fail(member, "the vocabulary does not have this token");
  return true;
}

static bool failMerge(ComponentReader &reader, JsonValue at, const Vector<char> &missing) {
  if (missing.empty())
    return reader.failMemory();
  Text token;
  token.appendQuoted(missing.data(), missing.size());
  return reader.fail(at, "the vocabulary lacks the token `%.200s`", token.c_str());
}

/// Merges as strings, "a b", or as pairs, ["a", "b"].
static bool readMerges(ComponentReader &reader, JsonValue value, Model &model) {
  JsonValue merges = value.find("merges");
  if (!merges.isArray())
    return reader.fail(value, "expected an array `merges`");
  if (!model.merges.reserve(merges.count()))
    return reader.failMemory();
  uint32_t rank = 0;
  Vector<char> missing;
  for (JsonValue one = merges.first(); one.exists(); one = one.next()) {
    Slice left, right;
    if (one.isString()) {
      Slice text = one.text();
      if (text.startsWith(Slice("#version")))
        continue;
      auto *space =
          static_cast<const char *>(text.size ? memchr(text.data, ' ', text.size) : nullptr);
      size_t at = space ? size_t(space - text.data) : 0;
      if (!space || memchr(space + 1, ' ', text.size - at - 1))
        return reader.fail(one, "expected two tokens with a space between them");
      left = text.between(0, at);
      right = text.from(at + 1);
    } else {
      JsonValue first = one.isArray() ? one.first() : JsonValue();
      JsonValue second = first.exists() ? first.next() : JsonValue();
      if (!first.isString() || !second.isString() || second.next().exists())
        return reader.fail(one, "expected a string or a pair of strings");
      left = first.text();
      right = second.text();
    }
    if (!addMerge(model, left, right, rank++, missing))
      return failMerge(reader, one, missing);
  }
  return true;
}

static bool readBpe(ComponentReader &reader, JsonValue value, Model &model) {
  model.kind = Model::Bpe;
  JsonValue dropout = value.find("dropout");
  double share = 0;
  if (dropout.isSet() && (!dropout.number(share) || share != 0))
    return reader.fail(dropout, "dropout is for training, and is not done here; expected null");
  return reader.readText(value, "continuing_subword_prefix", model.prefix, false) &&
         reader.readText(value, "end_of_word_suffix", model.suffix, false) &&
         reader.readFlag(value, "fuse_unk", model.fusesUnknown) &&
         reader.readFlag(value, "byte_fallback", model.fallsBackToBytes) &&
         reader.readFlag(value, "ignore_merges", model.ignoresMerges) &&
         readVocabulary(reader, value, model) && readUnknown(reader, value, model) &&
         readMerges(reader, value, model);
}

static bool readWordPiece(ComponentReader &reader, JsonValue value, Model &model) {
  model.kind = Model::WordPiece;
  model.prefix = Slice("##");
  int64_t longest = 100;
  if (!reader.readText(value, "continuing_subword_prefix", model.prefix, false) ||
      !reader.readInteger(value, "max_input_chars_per_word", 0, INT32_MAX, longest, false) ||
      !readVocabulary(reader, value, model) || !readUnknown(reader, value, model))
    return false;
  model.longestWord = size_t(longest);
  return true;
}

/// A vocabulary as an array of [piece, score].
static bool readUnigram(ComponentReader &reader, JsonValue value, Model &model) {
  model.kind = Model::Unigram;
  JsonValue vocabulary = value.find("vocab");
  if (!vocabulary.isArray())
    return reader.fail(value, "expected an array `vocab`");
  int64_t unknown = -1;
  int32_t count = 0;
  if (!model.vocabulary.reserve(vocabulary.count()))
    return reader.failMemory();
  for (JsonValue one = vocabulary.first(); one.exists(); one = one.next()) {
    JsonValue piece = one.isArray() ? one.first() : JsonValue();
    JsonValue score = piece.exists() ? piece.next() : JsonValue();
    double number;
    if (!piece.isString() || !score.number(number))
      return reader.fail(one, "expected a piece and its score, [\"piece\", -1.5]");
    if (count == maxTokens)
      return reader.fail(one, "above %lld tokens", static_cast<long long>(maxTokens));
    if (!model.vocabulary.add(count++, piece.text()) || !model.scores.push(number))
      return reader.failMemory();
  }
  if (!reader.readInteger(value, "unk_id", 0, count - 1, unknown, false) ||
      !reader.readFlag(value, "byte_fallback", model.fallsBackToBytes))
    return false;
  model.unknown = int32_t(unknown);
  return finishUnigram(model) || reader.failMemory();
}

/// What models were before they had a `type`: told by their members.
static Slice guessType(JsonValue value) {
  if (value.find("merges").exists())
    return Slice("BPE");
  if (value.find("vocab").isArray())
    return Slice("Unigram");
  return Slice(value.find("continuing_subword_prefix").exists() ? "WordPiece" : "WordLevel");
}

bool attn::readModel(ComponentReader &reader, JsonValue value, Model &model) {
  if (!value.isObject())
    return reader.fail(value, "expected an object `model`");
  Slice type;
  if (!value.find("type").exists())
    type = guessType(value);
  else if (!reader.readType(value, type))
    return false;
  bool isGood;
  if (type.is("BPE"))
    isGood = readBpe(reader, value, model);
  else if (type.is("WordPiece"))
    isGood = readWordPiece(reader, value, model);
  else if (type.is("Unigram"))
    isGood = readUnigram(reader, value, model);
  else if (type.is("WordLevel")) {
    model.kind = Model::WordLevel;
    isGood = readVocabulary(reader, value, model) && readUnknown(reader, value, model);
  } else
    return reader.failUnknown(value, "model", "BPE, Unigram, WordLevel, WordPiece");
  findByteTokens(model);
  return isGood;
}
