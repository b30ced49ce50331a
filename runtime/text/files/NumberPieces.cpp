// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Classes that give the pieces of a .model other numbers: fairseq's dictionaries begin with tokens
// of their own.
#include "text/files/ReadFolder.h"
#include <cstdio>
#include <initializer_list>

using namespace attn;

/// The languages of mBART, in the order of its dictionary.
static const char *const knownLanguages[] = {
    "ar_AR", "cs_CZ", "de_DE", "en_XX", "es_XX", "et_EE", "fi_FI", "fr_XX", "gu_IN",
    "hi_IN", "it_IT", "ja_XX", "kk_KZ", "ko_KR", "lt_LT", "lv_LV", "my_MM", "ne_NP",
    "nl_XX", "ro_RO", "ru_RU", "si_LK", "tr_TR", "vi_VN", "zh_CN"};

namespace {

/// Gives numbers to tokens, one after the other.
class Numbering {
public:
  explicit Numbering(Vocabulary &numbers) : numbers(numbers) {}
  /// The next number; a token that has one keeps it.
  void add(Slice token) {
    if (token.data && numbers.find(token) >= 0)
      ++next; // a number without a token
    else
      isGood = isGood && next < maxTokens && numbers.add(int32_t(next++), token);
  }
  void add(const char *token) { add(Slice(token)); }
  bool isGood = true;

private:
  Vocabulary &numbers;
  int64_t next = 0;
};

} // namespace

/// Pegasus: masks, tokens that nothing uses, then the pieces.
static void beginPegasus(const TextSettings &settings, Numbering &numbering) {
  numbering.add(settings.tokenOf(PaddingToken).content);
  numbering.add(settings.tokenOf(EosToken).content);
  numbering.add("<mask_1>");
  numbering.add(settings.tokenOf(MaskToken).content);
  for (int i = 2; i < 103; ++i) {
    char name[16];
    snprintf(name, sizeof name, "<unk_%d>", i);
    numbering.add(name);
  }
}

bool attn::numberPieces(ComponentReader &reader, const TextSettings &settings,
                        Tokenizer &tokenizer) {
  Numbering numbering(tokenizer.numbers);
  const Vocabulary &pieces = tokenizer.model.vocabulary;
  size_t first = 3; // <unk>, <s> and </s> of the model are not taken over
  switch (settings.known->numbers) {
  case Numbers::Own:
    return true;
  case Numbers::Fairseq:
  case Numbers::Languages:
    for (const char *token : {"<s>", "<pad>", "</s>", "<unk>"})
      numbering.add(token);
    break;
  case Numbers::Camembert:
    for (const char *token : {"<s>NOTUSED", "<pad>", "</s>NOTUSED", "<unk>", "<unk>NOTUSED"})
      numbering.add(token);
    first = 1;
    break;
  case Numbers::Pegasus:
    beginPegasus(settings, numbering);
    first = 2;
    break;
  }
  if (Slice name = settings.known->name(); pieces.size() < first)
    return reader.fail(JsonValue(), "a model of %zu pieces; the class `%.*s` takes at least %zu",
                       pieces.size(), int(name.size), name.data, first);
  for (size_t id = first; id < pieces.size(); ++id)
    numbering.add(pieces.token(int64_t(id)));
  if (settings.known->numbers == Numbers::Languages)
    for (const char *language : knownLanguages)
      numbering.add(language);
  if (settings.known->numbers != Numbers::Pegasus)
    numbering.add("<mask>");
  return numbering.isGood || reader.failMemory();
}
