// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A .model of SentencePiece: a message of protobuf (sentencepiece_model.proto), read by hand.
#include "text/Tokenizer.h"
#include <cmath>

using namespace attn;

namespace {

/// Reads the fields of a message.
class Message {
public:
  explicit Message(Slice bytes) : rest(bytes) {}

  /// Takes the next field; false at the end, or where the bytes are no message.
  bool next() {
    uint64_t key, size;
    if (rest.size == 0 || !isGood)
      return false;
    if (!takeVarint(key) || key >> 3 == 0 || key >> 3 > UINT32_MAX)
      return isGood = false;
    field = uint32_t(key >> 3);
    switch (key & 7) {
    case 0:
      return takeVarint(number);
    case 1:
    case 5:
      return takeBytes(key & 4 ? 4 : 8);
    case 2:
      return takeVarint(size) && takeBytes(size);
    default:
      return isGood = false;
    }
  }
  /// The number of a field of 32 bits.
  float real() const {
    float value = 0;
    if (bytes.size == 4)
      memcpy(&value, bytes.data, 4);
    return value;
  }

  uint32_t field = 0;
  uint64_t number = 0; ///< of a varint
  Slice bytes;         ///< of other fields
  bool isGood = true;

private:
  bool takeVarint(uint64_t &value) {
    value = 0;
    for (unsigned shift = 0; shift < 64 && rest.size; shift += 7) {
      auto byte = static_cast<unsigned char>(rest.data[0]);
      rest = rest.from(1);
      value |= uint64_t(byte & 127) << shift;
      if (byte < 128)
        return true;
    }
    return isGood = false;
  }
  bool takeBytes(uint64_t size) {
    if (size > rest.size)
      return isGood = false;
    bytes = rest.between(0, size_t(size));
    rest = rest.from(size_t(size));
    return true;
  }

  Slice rest;
};

/// What the specs of trainer and normalizer say.
struct Settings {
  uint64_t modelType = 1; ///< 1 unigram, 2 BPE
  bool isSpaceBehind = false, fallsBackToBytes = false;
  bool addsSpace = true, joinsSpaces = true, escapes = true;
  Slice unknownText = Slice(" \xe2\x81\x87 "), charsmap;
};

} // namespace

static bool readPiece(ComponentReader &reader, Slice bytes, Tokenizer &tokenizer) {
  static const TokenType types[] = {TokenType::Normal,  TokenType::Normal,      TokenType::Unknown,
                                    TokenType::Control, TokenType::UserDefined, TokenType::Unused,
                                    TokenType::Byte};
  Message message(bytes);
  Slice piece("", size_t(0));
  float score = 0;
  uint64_t type = 1;
  while (message.next()) {
    if (message.field == 1)
      piece = message.bytes;
    else if (message.field == 2)
      score = message.real();
    else if (message.field == 3)
      type = message.number;
  }
  Model &model = tokenizer.model;
  auto id = int64_t(model.vocabulary.size());
  if (!message.isGood || type == 0 || type > 6 || id == maxTokens || !std::isfinite(score))
    return reader.fail(JsonValue(), "piece %lld is damaged", static_cast<long long>(id));
  bool isGood = model.vocabulary.add(int32_t(id), piece) && model.scores.push(double(score)) &&
                model.types.push(types[type]);
  if (type == 2)
    model.unknown = int32_t(id);
  return isGood || reader.failMemory();
}

static bool readSettings(Slice bytes, bool isTrainer, Settings &settings) {
  Message message(bytes);
  while (message.next()) {
    if (isTrainer && message.field == 3)
      settings.modelType = message.number;
    else if (isTrainer && message.field == 24)
      settings.isSpaceBehind = message.number != 0;
    else if (isTrainer && message.field == 35)
      settings.fallsBackToBytes = message.number != 0;
    else if (isTrainer && message.field == 44)
      settings.unknownText = message.bytes;
    else if (!isTrainer && message.field == 2)
      settings.charsmap = message.bytes;
    else if (!isTrainer && message.field == 3)
      settings.addsSpace = message.number != 0;
    else if (!isTrainer && message.field == 4)
      settings.joinsSpaces = message.number != 0;
    else if (!isTrainer && message.field == 5)
      settings.escapes = message.number != 0;
  }
  return message.isGood;
}

/// Cuts texts before spaces where no token goes on behind a space within it: BPE does the same with
/// the words one by one, and they can be remembered.
static bool cutWords(ComponentReader &reader, Tokenizer &tokenizer, bool isEscaped) {
  Slice space(isEscaped ? "\xe2\x96\x81" : " ");
  for (size_t id = 0; id < tokenizer.model.vocabulary.size(); ++id) {
    Slice token = tokenizer.model.vocabulary.token(int64_t(id));
    while (token.startsWith(space))
      token = token.from(space.size);
    if (token.size && memmem(token.data, token.size, space.data, space.size))
      return true;
  }
  PreTokenizer step;
  return reader.compile(isEscaped ? "\xe2\x96\x81*[^\xe2\x96\x81]+" : " *[^ ]+", step.pattern) &&
         (tokenizer.preTokenizers.push(step) || reader.failMemory());
}

bool attn::finishSentencePiece(ComponentReader &reader, Tokenizer &tokenizer,
                               Normalizer normalizer) {
  Model &model = tokenizer.model;
  normalizer.kind = Normalizer::SentencePiece;
  model.isSinglePrecision = model.fusesUnknown = true;
  bool isGood = true;
  for (size_t id = 0; id < model.types.size() && isGood; ++id) {
    Slice piece = model.vocabulary.token(int64_t(id));
    if (model.types[id] == TokenType::UserDefined && piece.size)
      isGood = tokenizer.userPieces.add(piece, int32_t(id)) &&
               (model.kind == Model::Unigram || model.trie.add(piece, int32_t(id)));
  }
  normalizer.whole = &tokenizer.userPieces;
  isGood = isGood && tokenizer.normalizers.push(normalizer) &&
           (model.kind == Model::Unigram ? finishUnigram(model) : rankByScores(model));
  if (!isGood)
    return reader.failMemory();
  if (!findByteTokens(model) && model.fallsBackToBytes)
    return reader.fail(JsonValue(), "the vocabulary lacks some of the 256 tokens of bytes");
  return model.kind == Model::Unigram || cutWords(reader, tokenizer, normalizer.escapes);
}

bool attn::addControls(ComponentReader &reader, Tokenizer &tokenizer) {
  for (size_t id = 0; id < tokenizer.model.types.size(); ++id) {
    AddedToken token;
    token.id = int32_t(id);
    token.isSpecial = token.isHidden = true;
    token.content = tokenizer.model.vocabulary.token(int64_t(id));
    if (tokenizer.model.types[id] == TokenType::Control && !tokenizer.added.add(token))
      return reader.failMemory();
  }
  return true;
}

attn_status attn::readSentencePiece(const char *name, Slice bytes, bool hasControls,
                                    Tokenizer &tokenizer, Error &error) {
  ComponentReader reader(name, tokenizer.strings, tokenizer.regexes, error);
  Message message(bytes);
  Settings settings;
  bool isGood = true;
  while (isGood && message.next()) {
    if (message.field == 1)
      isGood = readPiece(reader, message.bytes, tokenizer);
    else if (message.field == 2 || message.field == 3)
      message.isGood = readSettings(message.bytes, message.field == 2, settings);
  }
  if (!isGood)
    return error.status;
  Normalizer normalizer;
  Slice table;
  if (!message.isGood || tokenizer.model.vocabulary.size() == 0) {
    reader.fail(JsonValue(), "no model of SentencePiece, or a damaged one");
    return error.status;
  }
  if (settings.modelType != 1 && settings.modelType != 2) {
    reader.fail(JsonValue(),
                "a model of SentencePiece of type %llu; expected unigram (1) or BPE (2)",
                static_cast<unsigned long long>(settings.modelType));
    return error.status;
  }
  if (!reader.keep(settings.charsmap, table) ||
      !reader.keep(settings.unknownText, tokenizer.unknownText))
    return error.status;
  if (!normalizer.charsmap.open(table)) {
    reader.fail(JsonValue(), "its table of characters is damaged");
    return error.status;
  }
  tokenizer.model.kind = settings.modelType == 1 ? Model::Unigram : Model::Bpe;
  tokenizer.model.fallsBackToBytes = settings.fallsBackToBytes;
  normalizer.addsSpace = settings.addsSpace;
  normalizer.joinsSpaces = settings.joinsSpaces;
  normalizer.escapes = settings.escapes;
  normalizer.isSpaceBehind = settings.isSpaceBehind;
  if (finishSentencePiece(reader, tokenizer, normalizer) &&
      (!hasControls || addControls(reader, tokenizer)))
    addPieceDecoders(reader, tokenizer, normalizer);
  return error.status;
}
