// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A folder of Marian: a model of SentencePiece for each language, and one vocab.json with the
// numbers of both languages' pieces.
#include "text/Tokenizer.h"

using namespace attn;

/// Reads the numbers; codes of languages, >>fra<<, are found in texts.
static bool readNumbers(ComponentReader &reader, JsonValue root, Tokenizer &tokenizer) {
  if (!tokenizer.numbers.reserve(root.count()))
    return reader.failMemory();
  for (JsonValue one = root.first(); one.exists(); one = one.next()) {
    int64_t id;
    if (!one.integer(0, kMaxTokens - 1, id))
      return reader.fail(one, "expected an id from 0 to %lld",
                         static_cast<long long>(kMaxTokens - 1));
    Slice token = one.key();
    if (!tokenizer.numbers.add(int32_t(id), token))
      return reader.failMemory();
    bool isCode = token.size > 4 && token.startsWith(Slice(">>")) && token.endsWith(Slice("<<"));
    if (isCode && !addLiteral(reader, tokenizer, int32_t(id), token, false))
      return false;
  }
  return true;
}

attn_status attn::readMarianNumbers(const char *name, Slice bytes, Tokenizer &tokenizer,
                                    Error &error) {
  ComponentReader reader(name, tokenizer.strings, tokenizer.regexes, error);
  JsonTree tree;
  if (!tree.read(bytes) || !tree.root().isObject()) {
    reader.fail(JsonValue(), "expected an object of tokens with their ids");
    return error.status;
  }
  if (!readNumbers(reader, tree.root(), tokenizer))
    return error.status;
  static const char *const names[] = {"<unk>", "</s>", "<pad>"};
  for (const char *special : names) {
    AddedToken token;
    token.id = tokenizer.numbers.find(Slice(special));
    token.content = Slice(special);
    token.isSpecial = token.isHidden = true;
    if (token.id < 0) {
      reader.fail(JsonValue(), "it lacks the token `%s`", special);
      return error.status;
    }
    if (special != names[0] && !tokenizer.added.add(token)) {
      reader.failMemory();
      return error.status;
    }
  }
  if (!tokenizer.added.finish(Vector<Normalizer>()))
    reader.failMemory();
  else
    tokenizer.postProcessors.addFrame(reader, -1, tokenizer.numbers.find(Slice("</s>")), -1, 0);
  return error.status;
}
