// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Which file of a folder has its vocabulary, and what the files beside it change.
#include "text/files/ReadFolder.h"

using namespace attn;

FolderKind attn::kindOfFolder(const TextFolder &folder, const char *&file) {
  static const struct {
    const char *file, *other;
    FolderKind kind;
  } known[] = {{"tokenizer.json", nullptr, FolderKind::Json},
               {"tokenizer.model", nullptr, FolderKind::Pieces},
               {"spiece.model", nullptr, FolderKind::Pieces},
               {"sentencepiece.bpe.model", nullptr, FolderKind::Pieces},
               {"spm.model", nullptr, FolderKind::Pieces},
               {"source.spm", "vocab.json", FolderKind::Marian},
               {"vocab.json", "merges.txt", FolderKind::Merges},
               {"vocab.txt", nullptr, FolderKind::WordPiece},
               {"tokenizer.bin", nullptr, FolderKind::Llama2},
               {"vocab.json", nullptr, FolderKind::Characters}};
  for (const auto &one : known)
    if (folder.has(one.file) && (!one.other || folder.has(one.other))) {
      file = one.file;
      return one.kind;
    }
  file = nullptr;
  return FolderKind::None;
}

static bool takesPieces(Build build) { return build == Build::Pieces; }
static bool takesWords(Build build) { return build == Build::WordPiece; }
static bool takesCharacters(Build build) { return build == Build::Characters; }

/// R0702 where a folder names a class that does not read its vocabulary.
static bool checkClass(const TextSettings &settings, const char *name, bool (*takes)(Build),
                       Error &error) {
  bool isKnown = settings.known && takes(settings.known->build);
  if (isKnown || (!settings.known && !settings.className.data))
    return true;
  Text names, quoted;
  Slice called = settings.className.data ? settings.className : settings.known->name();
  quoted.appendQuoted(called.data, called.size);
  appendClassNames(takes, names);
  error.set(ATTN_BAD_INPUT, "R0702", "`%s`: the tokenizer class `%.200s` is not known for it", name,
            quoted.c_str());
  error.help("known are %s; and all where there is a tokenizer.json", names.c_str());
  return false;
}

/// A .model. Where no class is known, nothing stands around a text.
static attn_status readPieces(const TextFolder &folder, const char *file,
                              const TextSettings &settings, Tokenizer &tokenizer, Error &error) {
  Vector<char> bytes;
  Text name = folder.nameOf(file);
  if (folder.read(file, bytes, error))
    return error.status;
  if (bytes.empty() || bytes[0] != '\n' || !memchr(bytes.data(), 0, bytes.size()))
    return tokenizer.readMemory(name.c_str(), Slice(bytes), error); // tiktoken's, for example
  if (!checkClass(settings, name.c_str(), takesPieces, error))
    return error.status;
  bool hasNumbers = settings.known && settings.known->numbers != Numbers::Own;
  if (readSentencePiece(name.c_str(), Slice(bytes), !hasNumbers, tokenizer, error) ||
      !settings.known)
    return error.status;
  ComponentReader reader(name.c_str(), tokenizer.strings, tokenizer.regexes, error);
  tokenizer.added.showAll();
  if (finishPieces(reader, settings, tokenizer) && addTokens(reader, settings, true, tokenizer))
    addClassFrame(reader, settings, tokenizer);
  return error.status;
}

/// Marian's folder: the model of the language that is translated from, and the numbers.
static attn_status readMarian(const TextFolder &folder, const TextSettings &settings,
                              Tokenizer &tokenizer, Error &error) {
  Vector<char> bytes, json;
  Text model = folder.nameOf("source.spm"), numbers = folder.nameOf("vocab.json");
  if (settings.separatesVocabularies == Flag::Yes)
    return error.set(ATTN_BAD_INPUT, "R0702",
                     "`%s`: `separate_vocabs` in tokenizer_config.json is not done here; expected "
                     "false",
                     numbers.c_str());
  // Its own control tokens have other numbers.
  if (folder.read("source.spm", bytes, error) || folder.read("vocab.json", json, error) ||
      readSentencePiece(model.c_str(), Slice(bytes), false, tokenizer, error))
    return error.status;
  return readMarianNumbers(numbers.c_str(), Slice(json), tokenizer, error);
}

/// vocab.txt. Where no class is known, BERT's.
static attn_status readWords(const TextFolder &folder, TextSettings &settings, Tokenizer &tokenizer,
                             Error &error) {
  Vector<char> bytes;
  Text name = folder.nameOf("vocab.txt");
  if (!checkClass(settings, name.c_str(), takesWords, error) ||
      folder.read("vocab.txt", bytes, error))
    return error.status;
  if (!settings.known)
    settings.known = findClass(Slice("BertTokenizer"));
  if (readVocabularyText(name.c_str(), Slice(bytes), &settings, tokenizer, error))
    return error.status;
  ComponentReader reader(name.c_str(), tokenizer.strings, tokenizer.regexes, error);
  if (addTokens(reader, settings, true, tokenizer))
    addClassFrame(reader, settings, tokenizer);
  return error.status;
}

/// vocab.json by itself.
static attn_status readCharacterFolder(const TextFolder &folder, const TextSettings &settings,
                                       Tokenizer &tokenizer, Error &error) {
  Text name = folder.nameOf("vocab.json");
  if (!settings.known && !settings.className.data) {
    error.set(ATTN_BAD_INPUT, "R0701", "`%s` does not say how a text is cut", name.c_str());
    error.help("expected merges.txt beside it; or in tokenizer_config.json the `tokenizer_class` "
               "Wav2Vec2CTCTokenizer");
    return error.status;
  }
  if (!checkClass(settings, name.c_str(), takesCharacters, error) ||
      readCharacters(folder, settings, tokenizer, error))
    return error.status;
  ComponentReader reader(name.c_str(), tokenizer.strings, tokenizer.regexes, error);
  addTokens(reader, settings, true, tokenizer);
  return error.status;
}

/// tokenizer.json, read literally where there is no tokenizer_config.json.
static attn_status readJson(const TextFolder &folder, const TextSettings &settings,
                            Tokenizer &tokenizer, Error &error) {
  Vector<char> bytes;
  Text name = folder.nameOf("tokenizer.json");
  if (folder.read("tokenizer.json", bytes, error) ||
      tokenizer.readMemory(name.c_str(), Slice(bytes), error) || !settings.hasConfig)
    return error.status;
  ComponentReader reader(name.c_str(), tokenizer.strings, tokenizer.regexes, error);
  if (changeJson(reader, settings, tokenizer) && addTokens(reader, settings, false, tokenizer))
    changeJsonFrame(reader, settings, tokenizer);
  return error.status;
}

attn_status attn::readFolder(const TextFolder &folder, Tokenizer &tokenizer, Error &error) {
  const char *file;
  TextSettings settings;
  FolderKind kind = kindOfFolder(folder, file);
  if (kind != FolderKind::None && kind != FolderKind::Llama2 &&
      settings.read(folder, tokenizer.strings, error))
    return error.status;
  switch (kind) {
  case FolderKind::None: {
    Text name = folder.nameOf("");
    error.set(ATTN_IO, "R0501", "the folder `%.*s` has no tokenizer", int(name.size() - 1),
              name.c_str());
    error.help("expected tokenizer.json, tokenizer.model, spiece.model, sentencepiece.bpe.model, "
               "spm.model, vocab.txt, tokenizer.bin, source.spm and vocab.json, vocab.json and "
               "merges.txt, or vocab.json alone");
    return error.status;
  }
  case FolderKind::Json:
    return readJson(folder, settings, tokenizer, error);
  case FolderKind::Pieces:
    return readPieces(folder, file, settings, tokenizer, error);
  case FolderKind::Marian:
    return readMarian(folder, settings, tokenizer, error);
  case FolderKind::WordPiece:
    return readWords(folder, settings, tokenizer, error);
  case FolderKind::Merges: {
    Text name = folder.nameOf("vocab.json");
    if (readMerges(folder, settings, tokenizer, error))
      return error.status;
    ComponentReader reader(name.c_str(), tokenizer.strings, tokenizer.regexes, error);
    if (addTokens(reader, settings, true, tokenizer))
      addClassFrame(reader, settings, tokenizer);
    return error.status;
  }
  case FolderKind::Characters:
    return readCharacterFolder(folder, settings, tokenizer, error);
  case FolderKind::Llama2: {
    Vector<char> bytes;
    Text name = folder.nameOf(file);
    if (folder.read(file, bytes, error))
      return error.status;
    return tokenizer.readMemory(name.c_str(), Slice(bytes), error);
  }
  }
  return error.status;
}
