// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The unigram language model (Kudo 2018): of all ways to cut a word into pieces of the vocabulary,
// the one with the largest sum of their logarithmic probabilities, by Viterbi's algorithm.
#include "text/steps/TokenModel.h"
#include "text/steps/Unicode.h"
#include <algorithm>
#include <cfloat>

using namespace attn;

/// How much less likely than all pieces an unknown character is.
static constexpr double unknownPenalty = 10.0;

bool attn::finishUnigram(Model &model) {
  // In SentencePiece the largest score begins with FLT_MIN, which is above 0: those of the user get
  // about -0.1 where all others are logarithms.
  double least = 0, largest = double(FLT_MIN);
  bool hasOne = false;
  for (size_t id = 0; id < model.vocabulary.size(); ++id) {
    Slice piece = model.vocabulary.token(int64_t(id));
    TokenType type = model.types.empty() ? TokenType::Normal : model.types[id];
    if (type == TokenType::Normal) {
      least = hasOne ? std::min(least, model.scores[id]) : model.scores[id];
      largest = std::max(largest, model.scores[id]);
      hasOne = true;
    }
    if (piece.size == 0 || (type != TokenType::Normal && type != TokenType::UserDefined))
      continue;
    if (!model.trie.add(piece, model.vocabulary.find(piece)))
      return false;
  }
  model.largestScore = largest;
  model.unknownScore = least - unknownPenalty;
  return true;
}

/// The score of a piece of `length` bytes; those of the user win over whatever they are made of.
static double scoreOf(const Model &model, int32_t id, size_t length) {
  if (!model.types.empty() && model.types[size_t(id)] == TokenType::UserDefined)
    return double(length) * model.largestScore - 0.1;
  return model.scores[size_t(id)];
}

/// Fills the lattice: for each place the best way to it.
static bool fillLattice(const Model &model, Slice word, Vector<ModelScratch::Node> &lattice) {
  if (!lattice.resize(word.size + 1))
    return false;
  for (ModelScratch::Node &node : lattice)
    node = {0, -1, -1};
  auto offer = [&](size_t begin, size_t end, int32_t id, double score) {
    double sum = lattice[begin].score + score;
    if (model.isSinglePrecision && id < 0)
      sum = double(float(sum));
    // SentencePiece compares sums in double precision with those that it keeps in single.
    if (lattice[end].begin < 0 || sum > lattice[end].score)
      lattice[end] = {model.isSinglePrecision ? double(float(sum)) : sum, id, int32_t(begin)};
  };
  for (size_t begin = 0; begin < word.size;) {
    size_t length;
    decodeUtf8(word.data + begin, length);
    bool hasSingle = false;
    uint32_t node = 0;
    for (size_t at = begin; at < word.size && !model.trie.empty(); ++at) {
      node = model.trie.step(node, static_cast<unsigned char>(word.data[at]));
      if (node == 0)
        break;
      int32_t id = model.trie.value(node);
      if (id < 0)
        continue;
      offer(begin, at + 1, id, scoreOf(model, id, at + 1 - begin));
      hasSingle = hasSingle || at + 1 - begin == length;
    }
    if (!hasSingle)
      offer(begin, begin + length, -1, model.unknownScore);
    begin += length;
  }
  return true;
}

/// Appends the token of an unknown part, or its bytes.
static Outcome addUnknown(const Model &model, Slice word, Token part, Vector<Token> &tokens) {
  bool hasBytes = model.fallsBackToBytes;
  for (uint32_t i = part.begin; i < part.end && hasBytes; ++i)
    hasBytes = model.byteTokens[static_cast<unsigned char>(word.data[i])] >= 0;
  if (!hasBytes) {
    if (model.unknown < 0)
      return Outcome::NoToken;
    part.id = model.unknown;
    return tokens.push(part) ? Outcome::Good : Outcome::NoMemory;
  }
  for (uint32_t i = part.begin; i < part.end; ++i) {
    int32_t id = model.byteTokens[static_cast<unsigned char>(word.data[i])];
    if (!tokens.push({id, part.begin, part.end}))
      return Outcome::NoMemory;
  }
  return Outcome::Good;
}

Outcome attn::encodeUnigram(const Model &model, Slice word, ModelScratch &scratch,
                            Vector<Token> &tokens) {
  Vector<ModelScratch::Node> &lattice = scratch.lattice;
  if (!fillLattice(model, word, lattice))
    return Outcome::NoMemory;
  // Back from the end; unknown characters in a row are one. The path goes behind the lattice.
  Vector<ModelScratch::Symbol> &path = scratch.symbols;
  path.clear();
  for (size_t end = word.size; end > 0;) {
    ModelScratch::Node node = lattice[end];
    if (node.id < 0 && !path.empty() && path.back().id < 0)
      path.back().begin = uint32_t(node.begin);
    else if (!path.push({uint32_t(node.begin), uint32_t(end), node.id, -1, -1, false}))
      return Outcome::NoMemory;
    end = size_t(node.begin);
  }
  for (size_t i = path.size(); i-- > 0;) {
    Token token = {path[i].id, path[i].begin, path[i].end};
    if (token.id < 0) {
      if (Outcome outcome = addUnknown(model, word, token, tokens); outcome != Outcome::Good)
        return outcome;
    } else if (!tokens.push(token)) {
      return Outcome::NoMemory;
    }
  }
  return Outcome::Good;
}
