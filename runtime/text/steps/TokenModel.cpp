// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// WordPiece and WordLevel, and what the models have in common.
#include "text/steps/TokenModel.h"
#include "text/steps/Unicode.h"
#include <algorithm>
#include <cstdio>

using namespace attn;

bool attn::findByteTokens(Model &model) {
  bool areAll = true;
  for (unsigned byte = 0; byte < 256; ++byte) {
    char name[8];
    snprintf(name, sizeof name, "<0x%02X>", byte);
    model.byteTokens[byte] = model.vocabulary.find(Slice(name));
    areAll = areAll && model.byteTokens[byte] >= 0;
  }
  return areAll;
}

/// For qsort_r: the larger score first, then the smaller id.
static int compareScores(const void *first, const void *second, void *scores) {
  auto *values = static_cast<const double *>(scores);
  uint32_t a = *static_cast<const uint32_t *>(first), b = *static_cast<const uint32_t *>(second);
  if (values[a] != values[b])
    return values[a] > values[b] ? -1 : 1;
  return a < b ? -1 : int(a > b);
}

bool attn::rankByScores(Model &model) {
  Vector<uint32_t> order;
  for (size_t id = 0; id < model.vocabulary.size(); ++id)
    if (!order.push(uint32_t(id)))
      return false;
  if (!order.empty())
    qsort_r(order.data(), order.size(), sizeof(uint32_t), compareScores, model.scores.data());
  if (!model.ranks.resize(model.vocabulary.size()))
    return false;
  uint32_t rank = 0;
  for (size_t i = 0; i < order.size(); ++i) {
    if (i > 0 && model.scores[order[i]] != model.scores[order[i - 1]])
      rank = uint32_t(i);
    TokenType type = model.types.empty() ? TokenType::Normal : model.types[order[i]];
    bool isMade =
        type == TokenType::Normal || type == TokenType::UserDefined || type == TokenType::Unused;
    model.ranks[order[i]] = isMade ? rank : UINT32_MAX;
  }
  return true;
}

bool attn::addMerge(Model &model, Slice left, Slice right, uint32_t rank, Vector<char> &missing) {
  const Vocabulary &vocabulary = model.vocabulary;
  missing.clear();
  int32_t a = vocabulary.find(left), b = vocabulary.find(right);
  if (a < 0 || b < 0) {
    append(missing, a < 0 ? left : right);
    return false;
  }
  Slice tail = right.startsWith(model.prefix) ? right.from(model.prefix.size) : right;
  if (!append(missing, left) || !append(missing, tail)) {
    missing.clear();
    return false;
  }
  int32_t whole = vocabulary.find(Slice(missing));
  if (whole < 0)
    return false;
  missing.clear();
  return model.merges.add(a, b, {rank, whole});
}

/// The longest token at the beginning, then the longest one with the prefix, and so on (Wu et al.
/// 2016). A word of which some part has none is unknown as a whole.
static Outcome encodeWordPiece(const Model &model, Slice word, ModelScratch &scratch,
                               Vector<Token> &tokens) {
  size_t characters = 0, before = tokens.size();
  for (size_t i = 0; i < word.size; ++i)
    characters += (static_cast<unsigned char>(word.data[i]) & 0xc0) != 0x80;
  Vector<char> &bytes = scratch.bytes;
  bool isKnown = characters <= model.longestWord;
  for (size_t begin = 0; begin < word.size && isKnown;) {
    bytes.clear();
    if ((begin > 0 && !append(bytes, model.prefix)))
      return Outcome::NoMemory;
    size_t lead = bytes.size();
    size_t end = std::min(word.size, begin + model.vocabulary.longest());
    while (end < word.size && (static_cast<unsigned char>(word.data[end]) & 0xc0) == 0x80)
      --end;
    if (!append(bytes, word.between(begin, std::max(begin, end))))
      return Outcome::NoMemory;
    int32_t id = -1;
    while (end > begin) {
      id = model.vocabulary.find(Slice(bytes.data(), lead + end - begin));
      if (id >= 0)
        break;
      do
        --end;
      while (end > begin && (static_cast<unsigned char>(word.data[end]) & 0xc0) == 0x80);
    }
    isKnown = id >= 0;
    if (isKnown && !tokens.push({id, uint32_t(begin), uint32_t(end)}))
      return Outcome::NoMemory;
    begin = end;
  }
  if (isKnown)
    return Outcome::Good;
  while (tokens.size() > before)
    tokens.pop();
  if (model.unknown < 0)
    return Outcome::NoToken;
  return tokens.push({model.unknown, 0, uint32_t(word.size)}) ? Outcome::Good : Outcome::NoMemory;
}

static Outcome encodeWordLevel(const Model &model, Slice word, Vector<Token> &tokens) {
  int32_t id = model.vocabulary.find(word);
  id = id >= 0 ? id : model.unknown;
  if (id < 0)
    return Outcome::NoToken;
  return tokens.push({id, 0, uint32_t(word.size)}) ? Outcome::Good : Outcome::NoMemory;
}

Outcome attn::encodeWord(const Model &model, Slice word, ModelScratch &scratch,
                         Vector<Token> &tokens) {
  switch (model.kind) {
  case Model::Bpe:
    return encodeBpe(model, word, scratch, tokens);
  case Model::WordPiece:
    return encodeWordPiece(model, word, scratch, tokens);
  case Model::Unigram:
    return encodeUnigram(model, word, scratch, tokens);
  case Model::WordLevel:
    return encodeWordLevel(model, word, tokens);
  }
  return Outcome::NoToken;
}
