// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A vocabulary of BPE in two files: vocab.json, {"token": id}, and merges.txt, a pair a line. They
// do not say how a text is cut; the class of the tokenizer does.
#include "text/files/ReadFolder.h"

using namespace attn;

static bool readVocabulary(ComponentReader &reader, Slice bytes, Model &model) {
  JsonTree tree;
  if (!tree.read(bytes))
    return reader.fail(JsonValue(), "not JSON at byte %zu: %s", tree.position, tree.problem);
  if (!tree.root().isObject())
    return reader.fail(JsonValue(), "expected an object of tokens with their ids");
  return readVocabularyObject(reader, tree.root(), model.vocabulary);
}

static bool readPairs(ComponentReader &reader, Slice bytes, Model &model) {
  Vector<char> missing;
  uint32_t rank = 0;
  for (int number = 1; bytes.size; ++number) {
    Slice line = bytes.takeLine();
    if (line.size == 0 || (number == 1 && line.startsWith(Slice("#version"))))
      continue;
    auto *space = static_cast<const char *>(memchr(line.data, ' ', line.size));
    size_t at = space ? size_t(space - line.data) : 0;
    if (!space || memchr(space + 1, ' ', line.size - at - 1))
      return reader.fail(JsonValue(), "line %d: expected two tokens with a space between them",
                         number);
    if (addMerge(model, line.between(0, at), line.from(at + 1), rank++, missing))
      continue;
    if (missing.empty())
      return reader.failMemory();
    Text token;
    token.appendQuoted(missing.data(), missing.size());
    return reader.fail(JsonValue(), "line %d: the vocabulary lacks the token `%.200s`", number,
                       token.c_str());
  }
  return true;
}

/// A step that replaces: of a normalizer or a decoder.
template <typename Step> static Step replacing(const char *content) {
  Step step;
  step.kind = Step::Replace;
  step.content = Slice(content);
  return step;
}

/// CLIP's: in lower case, white space a space, ends of words in the vocabulary.
static bool finishClip(ComponentReader &reader, Tokenizer &tokenizer) {
  Normalizer form, lower, blank = replacing<Normalizer>(" ");
  form.isComposed = true;
  lower.kind = Normalizer::Lowercase;
  PreTokenizer cut;
  cut.behaviour = SplitBehaviour::Removed;
  cut.isInverted = true;
  Decoder ends = replacing<Decoder>(" "), trim;
  ends.pattern.string = Slice("</w>");
  trim.kind = Decoder::Strip;
  trim.content = Slice(" ");
  trim.start = trim.stop = INT32_MAX;
  tokenizer.model.suffix = Slice("</w>");
  return reader.compile(R"(\s+)", blank.pattern) &&
         reader.compile(R"('s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+)",
                        cut.pattern) &&
         ((tokenizer.normalizers.push(form) && tokenizer.normalizers.push(blank) &&
           tokenizer.normalizers.push(lower) && tokenizer.preTokenizers.push(cut) &&
           tokenizer.decoders.push(ends) && tokenizer.decoders.push(trim)) ||
          reader.failMemory()) &&
         makeByteLevel(reader, byteLevelExpression, tokenizer.preTokenizers);
}

/// The first GPT's: BERT's cutting, ends of words in the vocabulary.
static bool finishOpenAi(ComponentReader &reader, Tokenizer &tokenizer) {
  Normalizer normalizer;
  normalizer.kind = Normalizer::Bert;
  Decoder decoder;
  decoder.kind = Decoder::Bpe;
  decoder.content = tokenizer.model.suffix = Slice("</w>");
  return (tokenizer.normalizers.push(normalizer) && tokenizer.decoders.push(decoder) &&
          addBertCutting(tokenizer)) ||
         reader.failMemory();
}

/// Qwen 2's: NFC, an expression, then bytes.
static bool finishQwen2(ComponentReader &reader, bool addsSpace, Tokenizer &tokenizer) {
  Normalizer form;
  form.isComposed = true;
  PreTokenizer cut, bytes;
  bytes.kind = PreTokenizer::ByteLevel;
  bytes.addsSpace = addsSpace;
  return reader.compile(qwen2Expression, cut.pattern) &&
         ((tokenizer.normalizers.push(form) && tokenizer.preTokenizers.push(cut) &&
           tokenizer.preTokenizers.push(bytes)) ||
          reader.failMemory());
}

static bool finishClass(ComponentReader &reader, const TextSettings &settings,
                        Tokenizer &tokenizer) {
  const TokenizerClass &known = *settings.known;
  bool addsSpace = TextSettings::is(settings.addsSpace, known.addsSpace);
  if (known.build == Build::OpenAi)
    return finishOpenAi(reader, tokenizer);
  Decoder bytes;
  bytes.kind = Decoder::ByteLevel;
  if (!tokenizer.decoders.push(bytes))
    return reader.failMemory();
  if (known.build == Build::Clip)
    return finishClip(reader, tokenizer);
  if (known.build == Build::Qwen2)
    return finishQwen2(reader, addsSpace, tokenizer);
  if (!makeByteLevel(reader, byteLevelExpression, tokenizer.preTokenizers))
    return false;
  tokenizer.preTokenizers.back().addsSpace = addsSpace;
  PostProcessor trim;
  trim.kind = PostProcessor::TrimOffsets;
  trim.addsSpace = addsSpace;
  return !*known.single || tokenizer.postProcessors.steps.push(trim) || reader.failMemory();
}

/// Whether a class reads these two files.
static bool takesMerges(Build build) {
  return build != Build::Json && build != Build::WordPiece && build != Build::Pieces &&
         build != Build::Characters;
}

attn_status attn::readMerges(const TextFolder &folder, const TextSettings &settings,
                             Tokenizer &tokenizer, Error &error) {
  Text vocabularyName = folder.nameOf("vocab.json"), mergesName = folder.nameOf("merges.txt");
  if (!settings.known || !takesMerges(settings.known->build)) {
    if (settings.className.data)
      error.set(ATTN_BAD_INPUT, "R0702",
                "`%s` and merges.txt: the tokenizer class `%.*s` is not known for these",
                vocabularyName.c_str(), int(settings.className.size), settings.className.data);
    else
      error.set(ATTN_BAD_INPUT, "R0701", "`%s` and merges.txt do not say how a text is cut",
                vocabularyName.c_str());
    Text names;
    appendClassNames(takesMerges, names);
    error.help("expected in tokenizer_config.json a `tokenizer_class` of %s; or in config.json "
               "the `model_type` of such a model",
               names.c_str());
    return error.status;
  }
  Vector<char> vocabulary, merges;
  if (folder.read("vocab.json", vocabulary, error) || folder.read("merges.txt", merges, error))
    return error.status;
  Model &model = tokenizer.model;
  ComponentReader reader(vocabularyName.c_str(), tokenizer.strings, tokenizer.regexes, error);
  ComponentReader pairs(mergesName.c_str(), tokenizer.strings, tokenizer.regexes, error);
  model.kind = Model::Bpe;
  tokenizer.hasDecoder = true;
  if (!readVocabulary(reader, Slice(vocabulary), model) ||
      !finishClass(reader, settings, tokenizer) || !readPairs(pairs, Slice(merges), model))
    return error.status;
  // Those of bytes have a token for everything.
  if (model.suffix.size)
    model.unknown = model.vocabulary.find(settings.tokenOf(UnknownToken).content);
  findByteTokens(model);
  return error.status;
}
