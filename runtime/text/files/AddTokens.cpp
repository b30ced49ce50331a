// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tokens that a folder's settings add, and those that they put around a text.
#include "text/files/ReadFolder.h"
#include <initializer_list>

using namespace attn;

/// Adds a token under the id that its content has, or the next one.
static bool addToken(ComponentReader &reader, AddedToken token, Tokenizer &tokenizer) {
  if (token.id < 0)
    token.id = tokenizer.find(token.content);
  if (token.id < 0)
    token.id = int32_t(tokenizer.size());
  if (token.id >= maxTokens)
    return reader.fail(JsonValue(), "above %lld tokens", static_cast<long long>(maxTokens));
  return tokenizer.added.add(token) || reader.failMemory();
}

/// Adds a token that is special, where it is none of the added ones yet or `replaces` what it is.
static bool addSpecial(ComponentReader &reader, const AddedToken &token, bool replaces,
                       Tokenizer &tokenizer) {
  const AddedToken *known = tokenizer.added.find(int64_t(tokenizer.added.find(token.content)));
  return token.content.size == 0 || (known && !known->isHidden && !replaces) ||
         addToken(reader, token, tokenizer);
}

bool attn::addTokens(ComponentReader &reader, const TextSettings &settings, bool hasNumbers,
                     Tokenizer &tokenizer) {
  for (AddedToken token : settings.added) {
    if (!hasNumbers)
      token.id = -1;
    // SentencePiece's normalizer would put a space before it.
    else if (settings.known->build == Build::Pieces)
      token.isNormalized = false;
    if (token.content.size && !addToken(reader, token, tokenizer))
      return false;
  }
  for (int role = 0; role < RoleCount; ++role) {
    const TextSettings::RoleToken &given = settings.roles[role];
    AddedToken token = settings.tokenOf(Role(role));
    // A token of the vocabulary gets the flags that its first role has.
    bool replaces = hasNumbers && given.isGiven && !given.isPlain;
    for (const AddedToken &other : settings.added)
      replaces = replaces && other.content != token.content;
    for (int before = 0; before < role; ++before)
      replaces = replaces && settings.tokenOf(Role(before)).content != token.content;
    if ((hasNumbers || given.isGiven) && !addSpecial(reader, token, replaces, tokenizer))
      return false;
  }
  for (const AddedToken &token : settings.additional)
    if (!addSpecial(reader, token, false, tokenizer))
      return false;
  tokenizer.splitsSpecial = settings.splitsSpecial == Flag::Yes;
  if (settings.known && settings.known->collapses) {
    tokenizer.collapses = true;
    tokenizer.blank = settings.tokenOf(PaddingToken).content;
    tokenizer.unknownText = settings.tokenOf(UnknownToken).content;
  }
  if (settings.cleansUp == Flag::Yes) {
    Decoder fuse, clean;
    clean.kind = Decoder::CleanUp;
    tokenizer.cleansUp = true;
    if (!tokenizer.decoders.push(fuse) || !tokenizer.decoders.push(clean))
      return reader.failMemory();
  }
  return true;
}

namespace {

/// Puts a template together.
class Frame {
public:
  Frame(ComponentReader &reader, const Tokenizer &tokenizer)
      : reader(reader), tokenizer(tokenizer) {}

  bool text(int32_t which, int32_t type) { return push({which, -1, type}); }
  /// A token, which the class calls `called`.
  bool token(Slice content, const char *called, int32_t type) {
    int32_t id = content.data ? tokenizer.find(content) : -1;
    if (id >= 0)
      return push({-1, id, type});
    Text quoted;
    quoted.appendQuoted(content.data, content.size);
    return content.data ? reader.fail(JsonValue(),
                                      "the vocabulary lacks the token `%.200s`, "
                                      "`%s`",
                                      quoted.c_str(), called)
                        : reader.fail(JsonValue(),
                                      "a token is to stand beside each text, but "
                                      "`%s` is null",
                                      called);
  }
  /// Hands over what was put together since the last time.
  bool finish(uint32_t &begin, uint32_t &end, PostProcessors &to) {
    begin = uint32_t(to.items.size());
    bool isGood = to.items.append(items.data(), items.size());
    end = uint32_t(to.items.size());
    items.clear();
    return isGood || reader.failMemory();
  }

private:
  bool push(const TemplateItem &item) { return items.push(item) || reader.failMemory(); }
  ComponentReader &reader;
  const Tokenizer &tokenizer;
  Vector<TemplateItem> items;
};

} // namespace

/// A template of a class, as `TokenizerClass::single` has it.
static bool addItems(const TextSettings &settings, const char *items, Frame &frame) {
  for (const char *at = items; *at; ++at) {
    int32_t type = at[1] >= '0' && at[1] <= '9' ? at[1] - '0' : 0;
    Role role = *at == 'b'   ? BosToken
                : *at == 'e' ? EosToken
                : *at == 's' ? SeparatorToken
                             : ClassToken;
    bool isGood = *at == 'A' || *at == 'B' ? frame.text(*at == 'B', type)
                  : *at == 'l' ? frame.token(settings.sourceLanguage.data ? settings.sourceLanguage
                                                                          : Slice("en_XX"),
                                             "src_lang", type)
                               : frame.token(settings.tokenOf(role).content, roleKeys[role], type);
    if (!isGood)
      return false;
    at += at[1] >= '0' && at[1] <= '9';
  }
  return true;
}

/// Whisper's: what is to be done with a sound stands before a text.
static bool addTranscript(const TextSettings &settings, bool isPair, Frame &frame) {
  Text language, task;
  language.append("<|%.*s|>", int(settings.language.size), settings.language.data);
  task.append("<|%.*s|>", int(settings.task.size), settings.task.data);
  return frame.token(Slice("<|startoftranscript|>"), "the beginning of a transcript", 0) &&
         (!settings.language.size || frame.token(Slice(language.c_str()), "language", 0)) &&
         (!settings.task.size || frame.token(Slice(task.c_str()), "task", 0)) &&
         (settings.predictsTimes == Flag::Yes ||
          frame.token(Slice("<|notimestamps|>"), "no times", 0)) &&
         frame.text(0, 0) && (!isPair || frame.text(1, 1)) &&
         frame.token(settings.tokenOf(EosToken).content, roleKeys[EosToken], isPair);
}

static bool pushFrame(ComponentReader &reader, Frame &frame, PostProcessor &step, bool isPair,
                      Tokenizer &tokenizer) {
  PostProcessors &to = tokenizer.postProcessors;
  return isPair ? frame.finish(step.pair, step.pairEnd, to) &&
                      (to.steps.push(step) || reader.failMemory())
                : frame.finish(step.single, step.singleEnd, to);
}

bool attn::addClassFrame(ComponentReader &reader, const TextSettings &settings,
                         Tokenizer &tokenizer) {
  const TokenizerClass &known = *settings.known;
  Frame frame(reader, tokenizer);
  PostProcessor step;
  for (bool isPair : {false, true}) {
    bool isGood = known.build == Build::Whisper
                      ? addTranscript(settings, isPair, frame)
                      : addItems(settings, isPair ? known.pair : known.single, frame);
    if (known.build != Build::Whisper && !*known.single)
      return addFlaggedFrame(reader, settings, tokenizer);
    if (!isGood || !pushFrame(reader, frame, step, isPair, tokenizer))
      return false;
  }
  return true;
}

bool attn::addFlaggedFrame(ComponentReader &reader, const TextSettings &settings,
                           Tokenizer &tokenizer) {
  bool begins = TextSettings::is(settings.addsBos, settings.known && settings.known->addsBos);
  bool ends = settings.addsEos == Flag::Yes && settings.tokenOf(EosToken).content.data;
  Frame frame(reader, tokenizer);
  PostProcessor step;
  if (!begins && !ends)
    return true;
  for (bool isPair : {false, true}) {
    for (int32_t which = 0; which <= int(isPair); ++which)
      if ((begins && !frame.token(settings.tokenOf(BosToken).content, roleKeys[BosToken], which)) ||
          !frame.text(which, which) ||
          (ends && !frame.token(settings.tokenOf(EosToken).content, roleKeys[EosToken], which)))
        return false;
    if (!pushFrame(reader, frame, step, isPair, tokenizer))
      return false;
  }
  return true;
}
