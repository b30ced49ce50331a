// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What a tokenizer_config.json changes of the tokenizer.json beside it: the classes of Hugging
// Face's library write some of the components anew when they open a folder.
#include "text/files/ReadFolder.h"

using namespace attn;

/// BERT's classes: the normalizer, where the config says how it is.
static void changeBert(const TextSettings &settings, Vector<Normalizer> &steps) {
  if (steps.size() != 1 || steps[0].kind != Normalizer::Bert)
    return;
  Normalizer &step = steps[0];
  bool isSaid = settings.lowers != Flag::Open || settings.stripsAccents != Flag::Open;
  step.lowers = TextSettings::is(settings.lowers, step.lowers);
  if (isSaid)
    step.stripsAccents = TextSettings::is(settings.stripsAccents, step.lowers);
  step.spacesChinese = TextSettings::is(settings.spacesChinese, step.spacesChinese);
}

/// `add_prefix_space` of byte-level BPE; GPT-2's and RoBERTa's classes have their own where the
/// config does not say.
static void changeByteLevel(const TextSettings &settings, Tokenizer &tokenizer) {
  bool isOwn = settings.known && (settings.known->build == Build::ByteLevel ||
                                  settings.known->build == Build::Whisper);
  if (!isOwn && settings.addsSpace == Flag::Open)
    return;
  bool adds = TextSettings::is(settings.addsSpace, isOwn && settings.known->addsSpace);
  if (tokenizer.preTokenizers.size() == 1 &&
      tokenizer.preTokenizers[0].kind == PreTokenizer::ByteLevel) {
    tokenizer.preTokenizers[0].addsSpace = adds;
    for (PostProcessor &step : tokenizer.postProcessors.steps)
      step.addsSpace = adds;
  }
}

/// Takes steps away for which `goes(step)` holds.
template <typename Step, typename Goes> static void remove(Vector<Step> &steps, Goes goes) {
  size_t kept = 0;
  for (size_t i = 0; i < steps.size(); ++i)
    if (!goes(steps[i]))
      steps[kept++] = steps[i];
  while (steps.size() > kept)
    steps.pop();
}

/// `add_prefix_space` of Llama's and T5's classes: U+2581 before a text, and none after decoding.
static bool changePrefix(ComponentReader &reader, const TextSettings &settings,
                         Tokenizer &tokenizer) {
  bool adds = settings.addsSpace == Flag::Yes, hasPrefix = false, hasStrip = false;
  auto isStrip = [](const Decoder &step) {
    return step.kind == Decoder::Strip && step.content.is(" ") && step.start == 1;
  };
  for (PreTokenizer &step : tokenizer.preTokenizers)
    if (step.kind == PreTokenizer::Metaspace) {
      hasPrefix = true;
      step.scheme = !adds                         ? PrependScheme::Never
                    : settings.legacy == Flag::No ? PrependScheme::First
                                                  : PrependScheme::Always;
    }
  for (Decoder &step : tokenizer.decoders) {
    if (step.kind == Decoder::Metaspace)
      step.dropsFirst = adds;
    hasStrip = hasStrip || step.kind == Decoder::Metaspace || isStrip(step);
  }
  if (!adds) {
    remove(tokenizer.normalizers,
           [](const Normalizer &step) { return step.kind == Normalizer::Prepend; });
    remove(tokenizer.decoders, isStrip);
    return true;
  }
  for (const Normalizer &step : tokenizer.normalizers)
    hasPrefix = hasPrefix || step.kind == Normalizer::Prepend;
  Normalizer prepend;
  prepend.kind = Normalizer::Prepend;
  prepend.content = Slice("\xe2\x96\x81");
  Vector<Normalizer> steps;
  Decoder strip;
  strip.kind = Decoder::Strip;
  strip.content = Slice(" ");
  strip.start = 1;
  bool isGood = hasPrefix || (steps.push(prepend) && steps.append(tokenizer.normalizers.data(),
                                                                  tokenizer.normalizers.size()));
  if (!hasPrefix)
    tokenizer.normalizers.swap(steps);
  return (isGood && (hasStrip || tokenizer.decoders.push(strip))) || reader.failMemory();
}

/// CLIP's class writes the ends of words as spaces.
static bool changeClip(ComponentReader &reader, Tokenizer &tokenizer) {
  Decoder ends, trim;
  ends.kind = Decoder::Replace;
  ends.pattern.string = Slice("</w>");
  ends.content = trim.content = Slice(" ");
  trim.kind = Decoder::Strip;
  trim.start = trim.stop = INT32_MAX;
  return (tokenizer.decoders.push(ends) && tokenizer.decoders.push(trim)) || reader.failMemory();
}

bool attn::changeJson(ComponentReader &reader, const TextSettings &settings, Tokenizer &tokenizer) {
  const TokenizerClass *known = settings.known;
  if (known && known->build == Build::WordPiece)
    changeBert(settings, tokenizer.normalizers);
  changeByteLevel(settings, tokenizer);
  if (known && known->build == Build::Clip)
    return changeClip(reader, tokenizer);
  if (known && known->build == Build::Pieces && known->addsSpace &&
      settings.addsSpace != Flag::Open)
    return changePrefix(reader, settings, tokenizer);
  return true;
}

bool attn::changeJsonFrame(ComponentReader &reader, const TextSettings &settings,
                           Tokenizer &tokenizer) {
  const TokenizerClass *known = settings.known;
  bool isSaid = settings.addsBos != Flag::Open || settings.addsEos != Flag::Open;
  bool hasOwn = known && (*known->single || known->build == Build::Whisper);
  if (hasOwn || !(isSaid || (known && known->addsBos)))
    return true;
  tokenizer.postProcessors.steps.clear();
  tokenizer.postProcessors.items.clear();
  return addFlaggedFrame(reader, settings, tokenizer);
}
