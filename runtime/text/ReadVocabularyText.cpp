// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A vocab.txt, a token a line, to BERT's tokenizer.
#include "text/Tokenizer.h"

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
    if (id == kMaxTokens || !isUtf8(line) || memchr(line.data, 0, line.size))
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

/// BERT's components around a vocabulary of WordPiece.
bool attn::finishBert(ComponentReader &reader, Tokenizer &tokenizer, bool isCased) {
  const Vocabulary &vocabulary = tokenizer.model.vocabulary;
  Normalizer normalizer;
  normalizer.kind = Normalizer::Bert;
  normalizer.lowers = normalizer.stripsAccents = !isCased;
  PreTokenizer spaces, punctuation;
  spaces.pattern.kind = punctuation.pattern.kind = Pattern::Set;
  spaces.pattern.contains = isSpace;
  spaces.behaviour = SplitBehaviour::Removed;
  punctuation.pattern.contains = isPunctuation;
  Decoder decoder;
  decoder.kind = Decoder::WordPiece;
  decoder.content = Slice("##");
  decoder.cleansUp = true;
  if (!tokenizer.normalizers.push(normalizer) || !tokenizer.preTokenizers.push(spaces) ||
      !tokenizer.preTokenizers.push(punctuation) || !tokenizer.decoders.push(decoder))
    return reader.failMemory();
  tokenizer.hasDecoder = true;
  tokenizer.model.kind = Model::WordPiece;
  tokenizer.model.prefix = Slice("##");
  tokenizer.model.unknown = vocabulary.find(Slice("[UNK]"));
  static const char *const specials[] = {"[UNK]", "[CLS]", "[SEP]", "[PAD]", "[MASK]"};
  for (const char *name : specials)
    if (int32_t id = vocabulary.find(Slice(name)); id >= 0)
      if (!addLiteral(reader, tokenizer, id, Slice(name), true))
        return false;
  return tokenizer.postProcessors.addFrame(reader, vocabulary.find(Slice("[CLS]")),
                                           vocabulary.find(Slice("[SEP]")), -1, 1) &&
         (tokenizer.added.finish(tokenizer.normalizers) || reader.failMemory());
}

attn_status attn::readVocabularyText(const char *name, Slice bytes, Tokenizer &tokenizer,
                                     Error &error) {
  ComponentReader reader(name, tokenizer.strings, tokenizer.regexes, error);
  bool isCased;
  if (!readLines(reader, bytes, tokenizer.model, isCased))
    return error.status;
  if (tokenizer.model.vocabulary.find(Slice("[UNK]")) < 0) {
    reader.fail(JsonValue(), "no vocab.txt of WordPiece: it has no line [UNK]");
    return error.status;
  }
  finishBert(reader, tokenizer, isCased);
  return error.status;
}
