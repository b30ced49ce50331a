// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tokenizer.bin of llama2.c: the length of the longest token, then for each token its score,
// its length and its bytes. It is a BPE of SentencePiece with spaces as they are.
#include "text/Tokenizer.h"
#include <cmath>

using namespace attn;

/// Takes a number of 32 bits.
template <typename T> static bool take(Slice &bytes, T &value) {
  if (bytes.size < 4)
    return false;
  memcpy(&value, bytes.data, 4);
  bytes = bytes.from(4);
  return true;
}

/// Calls `add` with each token; whether the bytes are such a file.
template <typename Add> static bool eachToken(Slice bytes, Add add) {
  int32_t longest;
  if (!take(bytes, longest) || longest <= 0)
    return false;
  while (bytes.size) {
    float score;
    int32_t length;
    if (!take(bytes, score) || !take(bytes, length) || length < 0 || length > longest ||
        size_t(length) > bytes.size || !std::isfinite(score))
      return false;
    add(bytes.between(0, size_t(length)), score);
    bytes = bytes.from(size_t(length));
  }
  return true;
}

bool attn::looksLikeLlama2(Slice bytes) {
  size_t count = 0;
  bool areTokens = eachToken(bytes, [&](Slice, float) { ++count; });
  return areTokens && count > 259;
}

attn_status attn::readLlama2(const char *name, Slice bytes, Tokenizer &tokenizer, Error &error) {
  ComponentReader reader(name, tokenizer.strings, tokenizer.regexes, error);
  Model &model = tokenizer.model;
  bool isGood = true;
  eachToken(bytes, [&](Slice token, float score) {
    size_t id = model.vocabulary.size();
    // The first three are unknown, beginning and end; then come the bytes.
    TokenType type = id == 0    ? TokenType::Unknown
                     : id < 3   ? TokenType::Control
                     : id < 259 ? TokenType::Byte
                                : TokenType::Normal;
    if (id == 1 || id == 2) // written with lines around them
      token = Slice(id == 1 ? "<s>" : "</s>");
    isGood = isGood && id < size_t(maxTokens) && model.vocabulary.add(int32_t(id), token) &&
             model.scores.push(double(score)) && model.types.push(type);
  });
  if (!isGood) {
    reader.failMemory();
    return error.status;
  }
  model.unknown = 0;
  model.fallsBackToBytes = true;
  Normalizer normalizer;
  normalizer.addsSpace = true;
  if (finishSentencePiece(reader, tokenizer, normalizer) && addControls(reader, tokenizer) &&
      tokenizer.postProcessors.addFrame(reader, 1, -1, -1, 0))
    addPieceDecoders(reader, tokenizer, normalizer);
  return error.status;
}
