// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Reading the files of a tokenizer from a folder or a bundle. A bundle is a first line, and for
// each file a line with its size and its name, and its bytes.
#include "text/files/Folder.h"
#include "io/File.h"
#include <cstdio>
#include <sys/stat.h>

using namespace attn;

static constexpr size_t mostFile = size_t(1) << 29;
static constexpr char bundleHead[] = "attn tokenizer 1\n";

/// The files that are read.
static const char *const readFiles[] = {"tokenizer.json",
                                        "tokenizer_config.json",
                                        "special_tokens_map.json",
                                        "added_tokens.json",
                                        "config.json",
                                        "tokenizer.model",
                                        "spiece.model",
                                        "sentencepiece.bpe.model",
                                        "spm.model",
                                        "source.spm",
                                        "vocab.json",
                                        "merges.txt",
                                        "vocab.txt",
                                        "tokenizer.bin"};

Text TextFolder::nameOf(const char *file) const {
  Text name;
  name.append("%s/%s", path, file);
  return name;
}

bool TextFolder::isBundle(Slice bytes) { return bytes.startsWith(Slice(bundleHead)); }

bool TextFolder::takeFile(Slice &rest, Slice &name, Slice &content) {
  if (rest.size == 0)
    return false;
  Slice line = rest.takeLine();
  size_t size = 0, at = 0;
  for (; at < line.size && line.data[at] >= '0' && line.data[at] <= '9' && size < mostFile; ++at)
    size = 10 * size + size_t(line.data[at] - '0');
  if (at == 0 || at == line.size || line.data[at] != ' ' || size > rest.size)
    return false;
  name = line.from(at + 1);
  content = rest.between(0, size);
  rest = rest.from(size);
  return true;
}

bool TextFolder::has(const char *file) const {
  if (bundle.data) {
    Slice rest = bundle, name, content;
    rest.takeLine();
    while (takeFile(rest, name, content))
      if (name.is(file))
        return true;
    return false;
  }
  struct stat found;
  Text name = nameOf(file);
  return !name.failed() && stat(name.c_str(), &found) == 0;
}

attn_status TextFolder::read(const char *file, Vector<char> &bytes, Error &error) const {
  bytes.clear();
  if (bundle.data) {
    Slice rest = bundle, name, content;
    rest.takeLine();
    while (takeFile(rest, name, content))
      if (name.is(file))
        return append(bytes, content) ? ATTN_OK : error.outOfMemory("a tokenizer");
    return ATTN_OK;
  }
  Text name = nameOf(file);
  return has(file) ? readFile(name.c_str(), mostFile, bytes, error) : ATTN_OK;
}

attn_status TextFolder::pack(Vector<char> &bytes, Error &error) const {
  Vector<char> content;
  bool isGood = append(bytes, Slice(bundleHead));
  for (const char *file : readFiles) {
    if (!has(file))
      continue;
    if (attn_status status = read(file, content, error))
      return status;
    char line[96];
    int size = snprintf(line, sizeof line, "%zu %s\n", content.size(), file);
    isGood = isGood && bytes.append(line, size_t(size)) && append(bytes, Slice(content));
  }
  return isGood ? ATTN_OK : error.outOfMemory("a tokenizer");
}
