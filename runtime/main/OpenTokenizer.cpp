// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tokenizer of a run: what the command line names, what is embedded, or what lies beside the
// weights.
#include "io/File.h"
#include "main/Prompt.h"
#include <sys/stat.h>

using namespace attn;

/// Whether what holds the weights may hold a tokenizer, too: a folder, or a GGUF file.
static bool mayHoldTokenizer(const char *path) {
  struct stat found;
  if (stat(path, &found) != 0)
    return false;
  char magic[4] = {};
  SourceFile file;
  Error error;
  return S_ISDIR(found.st_mode) || (!file.open(path, error) && file.size() >= 4 &&
                                    file.read(0, 4, magic) && memcmp(magic, "GGUF", 4) == 0);
}

/// The folder of an ONNX file's tokenizer: that of the file, or the one around it, as published
/// folders hold `onnx/model.onnx` beside `tokenizer.json`. False where the file is another.
static bool folderOfOnnx(const char *path, Text &folder) {
  size_t length = strlen(path);
  if (length < 5 || strcmp(path + length - 5, ".onnx") != 0)
    return false;
  const char *slash = strrchr(path, '/');
  Text own;
  own.append("%.*s", slash ? int(slash - path) : 1, slash ? path : ".");
  for (const char *name : {"tokenizer.json", "tokenizer.model", "vocab.json", "vocab.txt"}) {
    Text file;
    file.append("%s/%s", own.c_str(), name);
    struct stat found;
    if (!file.failed() && stat(file.c_str(), &found) == 0) {
      folder.append("%s", own.c_str());
      return !folder.failed();
    }
  }
  folder.append("%s/..", own.c_str());
  return !folder.failed() && !own.failed();
}

attn_status attn::openTokenizer(const Command &command, const attn_abi_model &tables,
                                const char *option, attn_tokenizer **tokenizer, Error &error) {
  const char *path = command.tokenizer;
  char *message = nullptr;
  attn_status status;
  if (!path && tables.tokenizerBytes > 0) {
    status = attn_tokenizer_open_memory(tables.tokenizer, size_t(tables.tokenizerBytes), tokenizer,
                                        &message);
  } else {
    if (!path && command.weights && mayHoldTokenizer(command.weights))
      path = command.weights;
    Text folder;
    if (!path && command.weights && folderOfOnnx(command.weights, folder))
      path = folder.c_str();
    if (!path) {
      error.set(ATTN_INVALID_ARGUMENT, "U0003", "`%s` needs a tokenizer", option);
      error.help("pass `--tokenizer FILE` (tokenizer.json, vocab.txt, a .model of SentencePiece, "
                 "…), or by `--weights` the folder that has one");
      return error.status;
    }
    status = attn_tokenizer_open(path, tokenizer, &message);
  }
  if (status)
    error.take(status, message);
  attn_message_free(message);
  return error.status;
}
