// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the classes make of a .model of SentencePiece: numbers, sentinels, spaces, case.
#include "text/files/ReadFolder.h"
#include <cctype>
#include <cstdio>

using namespace attn;

/// T5's tokens for what has been left out, <extra_id_99> to <extra_id_0> behind the vocabulary.
static bool addSentinels(ComponentReader &reader, int64_t count, Tokenizer &tokenizer) {
  if (int64_t(tokenizer.size()) + count > maxTokens)
    return reader.fail(JsonValue(), "above %lld tokens with `extra_ids`",
                       static_cast<long long>(maxTokens));
  for (int64_t i = count - 1; i >= 0; --i) {
    char name[32];
    Slice content;
    snprintf(name, sizeof name, "<extra_id_%lld>", static_cast<long long>(i));
    if (tokenizer.find(Slice(name)) >= 0)
      continue;
    if (!reader.keep(Slice(name), content) ||
        !addLiteral(reader, tokenizer, int32_t(tokenizer.size()), content, true))
      return false;
  }
  return true;
}

static Normalizer quote(const char *what) {
  Normalizer step;
  step.kind = Normalizer::Replace;
  step.pattern.string = Slice(what);
  step.content = Slice("\"");
  return step;
}

/// ALBERT's and XLNet's: quotes, accents, and case go before SentencePiece sees a text. A number
/// with a comma behind it is no piece where it can be helped.
static bool changeCase(ComponentReader &reader, const TextSettings &settings,
                       Tokenizer &tokenizer) {
  Vector<Normalizer> steps;
  Normalizer form, accents, lower;
  form.isCompatible = true;
  accents.kind = Normalizer::StripAccents;
  lower.kind = Normalizer::Lowercase;
  bool keeps = TextSettings::is(settings.keepsAccents, settings.known->keepsAccents);
  bool isGood = steps.push(quote("``")) && steps.push(quote("''")) &&
                (keeps || (steps.push(form) && steps.push(accents))) &&
                (!TextSettings::is(settings.lowers, settings.known->lowers) || steps.push(lower)) &&
                steps.append(tokenizer.normalizers.data(), tokenizer.normalizers.size());
  tokenizer.normalizers.swap(steps);
  Model &model = tokenizer.model;
  for (size_t id = 0; id < model.scores.size(); ++id) {
    Slice piece = model.vocabulary.token(int64_t(id));
    if (piece.size >= 2 && piece.endsWith(Slice(",")) &&
        isdigit(static_cast<unsigned char>(piece.data[piece.size - 2])))
      model.scores[id] -= 100;
  }
  return isGood || reader.failMemory();
}

/// Llama's and T5's spaces: none at the beginning, or at the beginning of the text alone.
static bool changeSpaces(ComponentReader &reader, const TextSettings &settings,
                         Tokenizer &tokenizer) {
  Normalizer &step = tokenizer.normalizers.back();
  step.addsSpace = TextSettings::is(settings.addsSpace, true);
  step.isFirstOnly = settings.legacy == Flag::No;
  tokenizer.decoders.clear();
  return addPieceDecoders(reader, tokenizer, step);
}

bool attn::finishPieces(ComponentReader &reader, const TextSettings &settings,
                        Tokenizer &tokenizer) {
  const TokenizerClass &known = *settings.known;
  if (settings.splitsPunctuation == Flag::Yes)
    return reader.fail(JsonValue(), "`split_by_punct` in tokenizer_config.json is not done here; "
                                    "expected false");
  // Unlike SentencePiece, the classes write the unknown token as itself.
  tokenizer.unknownText = Slice();
  return numberPieces(reader, settings, tokenizer) &&
         (!known.hasSentinels ||
          addSentinels(reader, settings.sentinels < 0 ? 100 : settings.sentinels, tokenizer)) &&
         (!known.addsSpace || changeSpaces(reader, settings, tokenizer)) &&
         (!known.changesCase || changeCase(reader, settings, tokenizer));
}
