// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// From a path to a tokenizer: which file of a folder, and of which kind it is.
#include "io/File.h"
#include "text/files/ReadFolder.h"
#include <sys/stat.h>

using namespace attn;

static constexpr size_t maxFile = size_t(1) << 29;

attn_status Tokenizer::readMemory(const char *name, Slice bytes, Error &error) {
  size_t at = 0;
  while (at < bytes.size && isSpace(static_cast<unsigned char>(bytes.data[at])))
    ++at;
  if (at == bytes.size)
    return error.set(ATTN_BAD_INPUT, "R0701", "`%s` is empty", name);
  bool isCut = false;
  if (bytes.startsWith(Slice("GGUF")))
    return readGguf(name, bytes, *this, isCut, error);
  if (bytes.data[at] == '{')
    return readTokenizerJson(name, bytes, *this, error);
  if (looksLikeLlama2(bytes))
    return readLlama2(name, bytes, *this, error);
  if (looksLikeTiktoken(bytes))
    return readTiktoken(name, bytes, *this, error);
  // A message of protobuf, field 1 of which is a message, or lines of text.
  if (bytes.data[0] == '\n' && memchr(bytes.data, 0, bytes.size))
    return readSentencePiece(name, bytes, true, *this, error);
  return readVocabularyText(name, bytes, nullptr, *this, error);
}

attn_status Tokenizer::finish(const char *name, Error &error) {
  ComponentReader reader(name, strings, regexes, error);
  added.finish(reader, normalizers);
  return error.status;
}

attn_status Tokenizer::openMemory(const char *name, Slice bytes, Error &error) {
  attn_status status = TextFolder::isBundle(bytes)
                           ? readFolder(TextFolder(name, bytes), *this, error)
                           : readMemory(name, bytes, error);
  return status ? status : finish(name, error);
}

/// The metadata of a GGUF file, which may have gigabytes of weights behind them: as many bytes as
/// they take.
static attn_status openGguf(const char *path, const SourceFile &file, Tokenizer &tokenizer,
                            Error &error) {
  Vector<char> bytes;
  for (size_t wanted = size_t(1) << 24;; wanted *= 4) {
    size_t size = file.size() < wanted ? size_t(file.size()) : wanted;
    bool isCut = false;
    if (!bytes.resize(size))
      return error.outOfMemory("a vocabulary");
    if (!file.read(0, size, bytes.data()))
      return file.cannotRead(error);
    attn_status status = readGguf(path, Slice(bytes), tokenizer, isCut, error);
    if (!isCut || size == file.size() || size >= maxFile)
      return status;
    error = Error();
  }
}

static attn_status openFile(const char *path, Tokenizer &tokenizer, Error &error) {
  SourceFile file;
  char magic[4] = {};
  if (attn_status status = file.open(path, error))
    return status;
  if (file.size() >= 4 && !file.read(0, 4, magic))
    return file.cannotRead(error);
  if (memcmp(magic, "GGUF", 4) == 0)
    return openGguf(path, file, tokenizer, error);
  Vector<char> bytes;
  if (attn_status status = readFile(path, maxFile, bytes, error))
    return status;
  return tokenizer.readMemory(path, Slice(bytes), error);
}

static bool isFolder(const char *path) {
  struct stat status;
  return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

attn_status attn::packTokenizer(const char *path, Vector<char> &bytes, Error &error) {
  if (!isFolder(path))
    return readFile(path, maxFile, bytes, error);
  const char *file;
  TextFolder folder(path);
  if (kindOfFolder(folder, file) == FolderKind::None)
    return error.status = ATTN_NOT_FOUND;
  return folder.pack(bytes, error);
}

attn_status Tokenizer::openPath(const char *path, Error &error) {
  attn_status status =
      isFolder(path) ? readFolder(TextFolder(path), *this, error) : openFile(path, *this, error);
  return status ? status : finish(path, error);
}

bool attn::addLiteral(ComponentReader &reader, Tokenizer &tokenizer, int32_t id, Slice content,
                      bool isSpecial) {
  AddedToken token;
  token.id = id;
  token.isSpecial = isSpecial;
  return reader.keep(content, token.content) && (tokenizer.added.add(token) || reader.failMemory());
}

bool attn::addPieceDecoders(ComponentReader &reader, Tokenizer &tokenizer,
                            const Normalizer &normalizer) {
  Slice space(normalizer.escapes ? "\xe2\x96\x81" : " ");
  Decoder lead, replace, bytes, fuse;
  lead.kind = Decoder::Lead;
  lead.content = space;
  lead.isRepeated = normalizer.joinsSpaces;
  replace.kind = Decoder::Replace;
  replace.pattern.string = space;
  replace.content = Slice(" ");
  bytes.kind = Decoder::ByteFallback;
  tokenizer.hasDecoder = true;
  bool isGood =
      (!(normalizer.addsSpace || normalizer.joinsSpaces) || tokenizer.decoders.push(lead)) &&
      (!normalizer.escapes || tokenizer.decoders.push(replace)) && tokenizer.decoders.push(bytes) &&
      tokenizer.decoders.push(fuse);
  return isGood || reader.failMemory();
}
