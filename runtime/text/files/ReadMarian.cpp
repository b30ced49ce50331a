// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A folder of Marian: a model of SentencePiece for each language, and one vocab.json with the
// numbers of both languages' pieces.
#include "text/Tokenizer.h"

using namespace attn;

/// Reads the numbers; codes of languages, >>fra<<, are found in texts.
static bool readNumbers(ComponentReader &reader, JsonValue root, Tokenizer &tokenizer) {
  if (!readVocabularyObject(reader, root, tokenizer.numbers))
    return false;
  for (size_t id = 0; id < tokenizer.numbers.size(); ++id) {
    Slice token = tokenizer.numbers.token(int64_t(id));
    bool isCode = token.size > 4 && token.startsWith(Slice(">>")) && token.endsWith(Slice("<<"));
    if (isCode && !addLiteral(reader, tokenizer, int32_t(id), token, false))
      return false;
  }
  return true;
}

/// The end stands behind one text, or behind two.
static bool addEnd(ComponentReader &reader, PostProcessors &to, int32_t end) {
  PostProcessor step;
  step.singleEnd = step.pair = 2;
  step.pairEnd = 5;
  const TemplateItem items[] = {{0, -1, 0}, {-1, end, 0}, {0, -1, 0}, {1, -1, 0}, {-1, end, 0}};
  return (to.items.append(items, 5) && to.steps.push(step)) || reader.failMemory();
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
  addEnd(reader, tokenizer.postProcessors, tokenizer.numbers.find(Slice("</s>")));
  return error.status;
}
