// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A vocab.json by itself: characters, and tokens of several, that a model of speech writes for each
// frame of a sound (wav2vec 2). A file may have a vocabulary for each of several languages.
#include "text/files/ReadFolder.h"

using namespace attn;

/// The vocabulary that counts: the file's, or that of the language that the settings name.
static bool findVocabulary(ComponentReader &reader, Slice language, JsonValue root,
                           JsonValue &vocabulary) {
  if (!root.isObject())
    return reader.fail(root, "expected an object of tokens with their ids");
  vocabulary = root;
  if (!root.first().isObject())
    return true;
  if (!language.data)
    return reader.fail(root.first(), "the file has a vocabulary for each language, and no "
                                     "`target_lang` in tokenizer_config.json says which counts");
  for (JsonValue one = root.first(); one.exists(); one = one.next())
    if (one.key() == language && one.isObject()) {
      vocabulary = one;
      return true;
    }
  Text quoted;
  quoted.appendQuoted(language.data, language.size);
  return reader.fail(root, "it has no language `%.200s`, which `target_lang` names",
                     quoted.c_str());
}

/// Whether a token is more than one character.
static bool isLong(Slice token) {
  size_t length = 0;
  if (token.size)
    decodeUtf8(token.data, length);
  return token.size > length;
}

/// Tokens of several characters are looked for before a text is cut; spaces beside them go.
static bool addLongTokens(ComponentReader &reader, Tokenizer &tokenizer) {
  for (size_t id = 0; id < tokenizer.model.vocabulary.size(); ++id) {
    AddedToken token;
    token.id = int32_t(id);
    token.content = tokenizer.model.vocabulary.token(int64_t(id));
    token.stripsLeft = token.stripsRight = true;
    if (token.content.data && isUtf8(token.content) && isLong(token.content) &&
        !tokenizer.added.add(token))
      return reader.failMemory();
  }
  return true;
}

/// A text is cut into characters, and its spaces are delimiters of words.
static bool addSteps(ComponentReader &reader, const TextSettings &settings, Tokenizer &tokenizer) {
  Normalizer upper, delimit;
  PreTokenizer cut;
  Decoder words, fuse, trim, lower;
  upper.kind = Normalizer::Uppercase;
  delimit.kind = Normalizer::Replace;
  delimit.pattern.string = Slice(" ");
  delimit.content = settings.wordDelimiter;
  cut.kind = PreTokenizer::FixedLength;
  cut.length = 1;
  words.kind = Decoder::Delimiter;
  words.delimiter = settings.wordDelimiter, words.content = settings.spaceForDelimiter;
  trim.kind = Decoder::Strip;
  trim.content = Slice(" ");
  trim.start = trim.stop = INT32_MAX;
  lower.kind = Decoder::Lowercase;
  bool lowers = settings.lowers == Flag::Yes;
  tokenizer.hasDecoder = true;
  tokenizer.model.kind = Model::WordLevel;
  tokenizer.model.unknown = tokenizer.model.vocabulary.find(settings.tokenOf(UnknownToken).content);
  bool isGood = (!lowers || tokenizer.normalizers.push(upper)) &&
                tokenizer.normalizers.push(delimit) && tokenizer.preTokenizers.push(cut) &&
                tokenizer.decoders.push(words) && tokenizer.decoders.push(fuse) &&
                tokenizer.decoders.push(trim) && (!lowers || tokenizer.decoders.push(lower));
  return isGood || reader.failMemory();
}

attn_status attn::readCharacters(const TextFolder &folder, const TextSettings &settings,
                                 Tokenizer &tokenizer, Error &error) {
  Vector<char> bytes;
  Text name = folder.nameOf("vocab.json");
  if (folder.read("vocab.json", bytes, error))
    return error.status;
  ComponentReader reader(name.c_str(), tokenizer.strings, tokenizer.regexes, error);
  JsonTree tree;
  JsonValue vocabulary;
  if (!tree.read(Slice(bytes)))
    reader.fail(JsonValue(), "not JSON at byte %zu: %s", tree.position, tree.problem);
  else if (findVocabulary(reader, settings.targetLanguage, tree.root(), vocabulary) &&
           readVocabularyObject(reader, vocabulary, tokenizer.model.vocabulary) &&
           addLongTokens(reader, tokenizer))
    addSteps(reader, settings, tokenizer);
  return error.status;
}
