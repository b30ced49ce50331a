// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A vocab.txt, a token a line, to BERT's tokenizer.
#include "text/files/ReadFolder.h"

using namespace attn;

static bool isBracketed(Slice token) {
  return token.size > 2 && token.data[0] == '[' && token.data[token.size - 1] == ']';
}

/// Reads the lines; `isCased` becomes true where some token has a capital letter.
static bool readLines(ComponentReader &reader, Slice bytes, Model &model, bool &isCased) {
  int32_t id = 0;
  isCased = false;
  while (bytes.size) {
    Slice line = bytes.takeLine();
    if (id == maxTokens || !isUtf8(line) || memchr(line.data, 0, line.size))
      return reader.fail(JsonValue(),
                         "line %d is no token; the file is none of tokenizer.json, vocab.txt, "
                         "SentencePiece, GGUF, tiktoken, llama2.c",
                         int(id) + 1);
    for (size_t i = 0; i < line.size && !isBracketed(line); ++i)
      isCased = isCased || (line.data[i] >= 'A' && line.data[i] <= 'Z');
    if (!model.vocabulary.add(id++, line))
      return reader.failMemory();
  }
  return true;
}

bool attn::addBertCutting(Tokenizer &tokenizer) {
  PreTokenizer spaces, punctuation;
  spaces.pattern.kind = punctuation.pattern.kind = Pattern::Set;
  spaces.pattern.contains = isSpace;
  spaces.behaviour = SplitBehaviour::Removed;
  punctuation.pattern.contains = isPunctuation;
  return tokenizer.preTokenizers.push(spaces) && tokenizer.preTokenizers.push(punctuation);
}

/// The components around a vocabulary of WordPiece.
static bool addComponents(ComponentReader &reader, Tokenizer &tokenizer, Normalizer normalizer) {
  Decoder decoder;
  decoder.kind = Decoder::WordPiece;
  decoder.content = Slice("##");
  decoder.cleansUp = true;
  normalizer.kind = Normalizer::Bert;
  tokenizer.hasDecoder = true;
  tokenizer.model.kind = Model::WordPiece;
  tokenizer.model.prefix = Slice("##");
  return (tokenizer.normalizers.push(normalizer) && addBertCutting(tokenizer) &&
          tokenizer.decoders.push(decoder)) ||
         reader.failMemory();
}

bool attn::finishBert(ComponentReader &reader, Tokenizer &tokenizer, bool isCased) {
  const Vocabulary &vocabulary = tokenizer.model.vocabulary;
  Normalizer normalizer;
  normalizer.lowers = normalizer.stripsAccents = !isCased;
  if (!addComponents(reader, tokenizer, normalizer))
    return false;
  tokenizer.model.unknown = vocabulary.find(Slice("[UNK]"));
  static const char *const specials[] = {"[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"};
  for (const char *name : specials)
    if (int32_t id = vocabulary.find(Slice(name)); id >= 0)
      if (!addLiteral(reader, tokenizer, id, Slice(name), true))
        return false;
  return tokenizer.postProcessors.addFrame(reader, vocabulary.find(Slice("[CLS]")),
                                           vocabulary.find(Slice("[SEP]")), -1, 1);
}

/// The components as the settings of a folder have them.
static bool finishBySettings(ComponentReader &reader, Tokenizer &tokenizer, bool isCased,
                             const TextSettings &settings) {
  Normalizer normalizer;
  bool cuts = settings.cutsWords != Flag::No;
  normalizer.lowers = cuts && TextSettings::is(settings.lowers, !isCased);
  normalizer.stripsAccents = cuts && TextSettings::is(settings.stripsAccents, normalizer.lowers);
  normalizer.spacesChinese = cuts && TextSettings::is(settings.spacesChinese, true);
  return addComponents(reader, tokenizer, normalizer);
}

attn_status attn::readVocabularyText(const char *name, Slice bytes, const TextSettings *settings,
                                     Tokenizer &tokenizer, Error &error) {
  ComponentReader reader(name, tokenizer.strings, tokenizer.regexes, error);
  Slice unknown = settings ? settings->tokenOf(UnknownToken).content : Slice("[UNK]");
  bool isCased;
  if (!readLines(reader, bytes, tokenizer.model, isCased))
    return error.status;
  tokenizer.model.unknown = tokenizer.model.vocabulary.find(unknown);
  if (unknown.data && tokenizer.model.unknown < 0) {
    Text quoted;
    quoted.appendQuoted(unknown.data, unknown.size);
    reader.fail(JsonValue(), "no vocab.txt of WordPiece: it has no line %.200s", quoted.c_str());
    return error.status;
  }
  if (settings)
    finishBySettings(reader, tokenizer, isCased, *settings);
  else
    finishBert(reader, tokenizer, isCased);
  return error.status;
}
