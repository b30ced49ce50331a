// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The vocabulary in a GGUF file's metadata, `tokenizer.ggml.*`, to a tokenizer.
#include "io/Gguf.h"
#include "text/Tokenizer.h"
#include "text/files/GgufCuts.h"
#include <cmath>

using namespace attn;

namespace {

/// The values that a vocabulary is made of.
struct Vocabularies {
  GgufValue model, pre, tokens, scores, types, merges, charsmap;
  GgufValue bos, eos, unknown, separator, start, addBos, addEos, addSpace, joinSpaces;
};

/// Makes a tokenizer of the values.
class Builder {
public:
  Builder(ComponentReader &reader, Vocabularies &values, Tokenizer &tokenizer)
      : reader(reader), values(values), tokenizer(tokenizer), model(tokenizer.model) {}
  bool build();

private:
  bool readTokens(bool arePhantom);
  bool readScores();
  bool buildPieces(bool isUnigram);
  bool buildMerged(Slice name);
  bool cutByExpressions(const GgufCut &cut);
  bool finishBytes(const GgufCut &cut);
  bool finishCharacters(const GgufCut &cut);
  bool readMerges();
  bool addLiterals();
  bool addFrame(bool addsBos, bool addsEos);
  int32_t tokenOf(const GgufValue &value) const;
  bool flag(const GgufValue &value, bool standard) const;

  ComponentReader &reader;
  Vocabularies &values;
  Tokenizer &tokenizer;
  Model &model;
};

} // namespace

/// The characters of a string value.
static Slice textOf(const GgufValue &value) {
  return value.exists() && value.kind == GgufKind::String ? value.bytes.from(8)
                                                          : Slice("", size_t(0));
}

int32_t Builder::tokenOf(const GgufValue &value) const {
  if (!value.exists() || (value.kind != GgufKind::U32 && value.kind != GgufKind::I32))
    return -1;
  auto id = value.at<uint32_t>(0);
  return id < model.vocabulary.size() ? int32_t(id) : -1;
}

bool Builder::flag(const GgufValue &value, bool standard) const {
  return value.exists() && value.kind == GgufKind::Bool ? value.bytes.data[0] != 0 : standard;
}

/// Reads tokens and their types. In BERT's vocabularies, `arePhantom`, U+2581 begins words, where
/// WordPiece has ## before what continues one.
bool Builder::readTokens(bool arePhantom) {
  static const TokenType types[] = {TokenType::Normal,  TokenType::Normal,      TokenType::Unknown,
                                    TokenType::Control, TokenType::UserDefined, TokenType::Unused,
                                    TokenType::Byte};
  if (!values.tokens.isArrayOf(GgufKind::String) || values.tokens.count == 0 ||
      values.tokens.count > uint64_t(maxTokens))
    return reader.fail(JsonValue(), "expected strings `tokenizer.ggml.tokens`");
  size_t count = size_t(values.tokens.count);
  bool hasTypes = values.types.isArrayOf(GgufKind::I32) && values.types.count == count;
  if (!model.vocabulary.reserve(count))
    return reader.failMemory();
  GgufReader strings(values.tokens.bytes);
  Vector<char> changed;
  for (size_t id = 0; id < count; ++id) {
    Slice token;
    strings.takeString(token);
    auto type = hasTypes ? values.types.at<uint32_t>(id) : 1;
    TokenType known = type <= 6 ? types[type] : TokenType::Normal;
    if (arePhantom && known == TokenType::Normal) {
      Slice space("\xe2\x96\x81");
      changed.clear();
      if (!append(changed, Slice(token.startsWith(space) ? "" : "##")) ||
          !append(changed, token.startsWith(space) ? token.from(space.size) : token))
        return reader.failMemory();
      token = Slice(changed);
    }
    if (!model.vocabulary.add(int32_t(id), token) || !model.types.push(known))
      return reader.failMemory();
  }
  return true;
}

bool Builder::readScores() {
  size_t count = model.vocabulary.size();
  bool areThere = values.scores.isArrayOf(GgufKind::F32) && values.scores.count == count;
  if (!areThere)
    return reader.fail(JsonValue(), "expected a score for each token, `tokenizer.ggml.scores`");
  for (size_t id = 0; id < count; ++id) {
    float score = values.scores.at<float>(id);
    if (!std::isfinite(score))
      return reader.fail(JsonValue(), "the score of token %zu is no number", id);
    if (!model.scores.push(double(score)))
      return reader.failMemory();
  }
  return true;
}

/// Control tokens, and those of the user, are found in texts.
bool Builder::addLiterals() {
  for (size_t id = 0; id < model.vocabulary.size(); ++id) {
    TokenType type = model.types[id];
    bool isSpecial = type == TokenType::Control || type == TokenType::Unknown;
    if (isSpecial || type == TokenType::UserDefined)
      if (!addLiteral(reader, tokenizer, int32_t(id), model.vocabulary.token(int64_t(id)),
                      isSpecial))
        return false;
  }
  return true;
}

bool Builder::addFrame(bool addsBos, bool addsEos) {
  int32_t bos = flag(values.addBos, addsBos) ? tokenOf(values.bos) : -1;
  int32_t eos = flag(values.addEos, addsEos) ? tokenOf(values.eos) : -1;
  return tokenizer.postProcessors.addFrame(reader, bos, eos, -1, 0);
}

/// `llama` (BPE by scores) and `t5` (Unigram): SentencePiece's.
bool Builder::buildPieces(bool isUnigram) {
  model.kind = isUnigram ? Model::Unigram : Model::Bpe;
  if (!readTokens(false) || !readScores())
    return false;
  model.unknown = tokenOf(values.unknown);
  for (size_t id = 0; id < model.types.size(); ++id) {
    if (model.types[id] == TokenType::Unknown && model.unknown < 0)
      model.unknown = int32_t(id);
    model.fallsBackToBytes = model.fallsBackToBytes || model.types[id] == TokenType::Byte;
  }
  Normalizer normalizer;
  Slice table;
  const GgufValue &charsmap = values.charsmap;
  if (charsmap.isArrayOf(GgufKind::U8) || charsmap.isArrayOf(GgufKind::I8)) {
    if (!reader.keep(charsmap.bytes, table))
      return false;
    if (!normalizer.charsmap.open(table))
      return reader.fail(JsonValue(), "`tokenizer.ggml.precompiled_charsmap` is damaged");
  }
  normalizer.addsSpace = flag(values.addSpace, true);
  normalizer.joinsSpaces = flag(values.joinSpaces, isUnigram);
  normalizer.escapes = true;
  return finishSentencePiece(reader, tokenizer, normalizer) &&
         addPieceDecoders(reader, tokenizer, normalizer) && addLiterals() &&
         addFrame(!isUnigram, isUnigram);
}

bool Builder::readMerges() {
  if (!values.merges.isArrayOf(GgufKind::String))
    return reader.fail(JsonValue(), "expected strings `tokenizer.ggml.merges`");
  GgufReader strings(values.merges.bytes);
  Vector<char> missing;
  for (uint32_t rank = 0; rank < values.merges.count; ++rank) {
    Slice text;
    strings.takeString(text);
    auto *space = static_cast<const char *>(
        text.size > 1 ? memchr(text.data + 1, ' ', text.size - 1) : nullptr);
    if (!space)
      return reader.fail(JsonValue(), "merge %u is not two tokens with a space between them", rank);
    size_t at = size_t(space - text.data);
    if (!addMerge(model, text.between(0, at), text.from(at + 1), rank, missing)) {
      if (missing.empty())
        return reader.failMemory();
      Text token;
      token.appendQuoted(missing.data(), missing.size());
      return reader.fail(JsonValue(), "merge %u: the vocabulary lacks the token `%.200s`", rank,
                         token.c_str());
    }
  }
  return true;
}

bool Builder::cutByExpressions(const GgufCut &cut) {
  for (const char *expression : cut.expressions) {
    PreTokenizer step;
    if (cut.ending == GgufCut::Spaces)
      step.behaviour = SplitBehaviour::Removed;
    if (expression && (!reader.compile(expression, step.pattern) ||
                       !(tokenizer.preTokenizers.push(step) || reader.failMemory())))
      return false;
  }
  return true;
}

/// Characters, not bytes, are what merges begin with, and U+2581 stands for a space, as in
/// SentencePiece's vocabularies; nothing is put in front.
bool Builder::finishCharacters(const GgufCut &cut) {
  if (cut.ending == GgufCut::Spaces) {
    model.unknown = tokenOf(values.unknown);
    return true;
  }
  Normalizer spaces;
  spaces.kind = Normalizer::Replace;
  spaces.pattern.string = Slice(" ");
  spaces.content = Slice("\xe2\x96\x81");
  Normalizer escaped;
  escaped.escapes = true;
  model.fallsBackToBytes = findByteTokens(model);
  model.unknown = tokenOf(values.unknown);
  return (tokenizer.normalizers.push(spaces) || reader.failMemory()) &&
         addPieceDecoders(reader, tokenizer, escaped);
}

/// Bytes are written as characters, and cut as GPT-2's are where the table says so.
bool Builder::finishBytes(const GgufCut &cut) {
  PreTokenizer bytes;
  bytes.kind = PreTokenizer::ByteLevel;
  bytes.usesRegex = cut.ending == GgufCut::CutBytes;
  if (bytes.usesRegex && !reader.compile(byteLevelExpression, bytes.pattern))
    return false;
  Decoder decoder;
  decoder.kind = Decoder::ByteLevel;
  tokenizer.hasDecoder = true;
  return (tokenizer.preTokenizers.push(bytes) && tokenizer.decoders.push(decoder)) ||
         reader.failMemory();
}

/// `gpt2`: BPE with merges.
bool Builder::buildMerged(Slice name) {
  const GgufCut *cut = findGgufCut(name);
  if (!cut) {
    Text known;
    appendGgufCuts(known);
    return reader.failUnknown("way to cut texts, `tokenizer.ggml.pre`,", name, known.c_str());
  }
  bool isOfBytes = cut->ending == GgufCut::Bytes || cut->ending == GgufCut::CutBytes;
  model.ignoresMerges = cut->traits & GgufCut::IgnoresMerges;
  return cutByExpressions(*cut) && (!isOfBytes || finishBytes(*cut)) && readTokens(false) &&
         (isOfBytes || finishCharacters(*cut)) && readMerges() && addLiterals() &&
         addFrame(cut->traits & GgufCut::AddsBos, false);
}

bool Builder::build() {
  Slice kind = textOf(values.model);
  if (kind.is("llama") || kind.is("t5"))
    return buildPieces(kind.is("t5"));
  if (kind.is("gpt2"))
    return buildMerged(textOf(values.pre));
  if (kind.is("gemma4"))
    return buildMerged(kind);
  if (kind.is("bert")) {
    bool isCased = false;
    return readTokens(true) && finishBert(reader, tokenizer, isCased);
  }
  return reader.failUnknown("model of the vocabulary, `tokenizer.ggml.model`,", kind,
                            "bert, gemma4, gpt2, llama, t5");
}

/// The place for the value of a key, or null where it is of no use here.
static GgufValue *placeOf(Slice key, Vocabularies &values) {
  const struct {
    const char *name;
    GgufValue *value;
  } places[] = {{"model", &values.model},
                {"pre", &values.pre},
                {"tokens", &values.tokens},
                {"scores", &values.scores},
                {"token_type", &values.types},
                {"merges", &values.merges},
                {"precompiled_charsmap", &values.charsmap},
                {"bos_token_id", &values.bos},
                {"eos_token_id", &values.eos},
                {"unknown_token_id", &values.unknown},
                {"add_bos_token", &values.addBos},
                {"add_eos_token", &values.addEos},
                {"add_space_prefix", &values.addSpace},
                {"remove_extra_whitespaces", &values.joinSpaces}};
  Slice prefix("tokenizer.ggml.");
  if (key.startsWith(prefix))
    for (const auto &place : places)
      if (key.from(prefix.size).is(place.name))
        return place.value;
  return nullptr;
}

attn_status attn::readGguf(const char *name, Slice bytes, Tokenizer &tokenizer, bool &isCut,
                           Error &error) {
  ComponentReader reader(name, tokenizer.strings, tokenizer.regexes, error);
  GgufReader source(bytes);
  Vocabularies values;
  uint32_t version = 0;
  uint64_t tensors, count = 0;
  bool isGood = source.takeHeader(version, tensors, count);
  if (isGood && version != 2 && version != 3) {
    reader.fail(JsonValue(), "a GGUF file of version %u; expected 2 or 3", version);
    return error.status;
  }
  isGood = isGood && eachGgufValue(source, count, [&](Slice key, const GgufValue &value) {
             if (GgufValue *place = placeOf(key, values))
               *place = value;
           });
  isCut = source.isCut;
  if (!isGood) {
    reader.fail(JsonValue(), "its metadata are damaged, or end too early");
    return error.status;
  }
  if (!values.model.exists()) {
    reader.fail(JsonValue(), "a GGUF file without a vocabulary, `tokenizer.ggml.model`");
    return error.status;
  }
  Builder(reader, values, tokenizer).build();
  return error.status;
}
