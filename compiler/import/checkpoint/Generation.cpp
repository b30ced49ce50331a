// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The entries of a decoder, and what generation_config.json says of its loop over tokens;
// config.json where there is no such file, as folders of before 2023 have it.
#include "compiler/import/checkpoint/Families.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace attn::importer {

namespace {

/// When a number of a config counts.
enum class When { Always, Drawn, Beams };

/// A key that is one number of `unfold`, and the value at which it does nothing.
struct NumberKey {
  StringRef key, setting;
  double idle;
  When when;
};
constexpr NumberKey numberKeys[] = {
#define ATTN_KEY(setting, key, idle, when) {key, #setting, idle, When::when},
#include "runtime/include/attn/settings.def"
};

/// The most tokens of an entry where nothing is said.
constexpr int64_t usualLimit = 256;
/// The default of the published class, which old files have where nothing was said.
constexpr double defaultLength = 20;

/// What is said of generation, as settings of `unfold`.
class GenerationWriter {
public:
  /// A decoder with room for `capacity` positions.
  GenerationWriter(FamilyWriter &writer, int64_t capacity, bool readsSource)
      : writer(writer), capacity(capacity), readsSource(readsSource),
        own(writer.folder.generation ? *writer.folder.generation : writer.folder.config,
            writer.folder.generation ? "generation_config.json" : "config.json") {}

  /// `, limit = 256, stop = 2`, and so on.
  std::string settings();
  /// The token that a decoder begins with.
  int64_t begin();
  /// Takes over what was remembered, when all has been asked for.
  void finish() { writer.config.adopt(own); }

private:
  /// Who says a key: the file, or without one the config of the decoder within another.
  Config &at(StringRef key) {
    return own.has(key) || writer.folder.generation ? own : writer.config;
  }
  /// Tokens that the file or, where that lacks them, the config says.
  std::vector<int64_t> tokensOfBoth(StringRef key);
  void add(StringRef setting, const Twine &value) {
    text += (", " + setting + " = " + value).str();
  }
  void addTokens(StringRef setting, ArrayRef<int64_t> tokens);
  void addNumbers(When when);
  void addLengths();
  void addDrawing();
  void addBeams(int64_t beams);
  void addWords();
  void addDecay();
  std::vector<int64_t> spokenTokens();
  std::vector<int64_t> forcedTokens();
  std::optional<int64_t> tokenOf(StringRef key, StringRef table);

  FamilyWriter &writer;
  int64_t capacity;
  static constexpr int64_t rows = 32; ///< of a step, as `dyn B` of every decoder says
  bool readsSource;
  Config own;
  std::string text;
};

} // namespace

std::vector<int64_t> GenerationWriter::tokensOfBoth(StringRef key) {
  std::vector<int64_t> tokens = at(key).sizes(key);
  if (tokens.empty() && !writer.folder.generation && writer.config.isSilent(key) &&
      !writer.ofLlamaCpp())
    writer.config.note("`config.json` does not say `" + key +
                       "`: answers end at their limit alone, though the published class may have "
                       "a token of its own");
  if (!tokens.empty() || !writer.folder.generation || !writer.config.has(key))
    return tokens;
  writer.config.note("generation_config.json does not say `" + key +
                     "`: it is that of config.json");
  return writer.config.sizes(key);
}

/// A list as an expression: `2`, or `(2, 3)`.
static std::string listOf(ArrayRef<int64_t> tokens) {
  std::string list;
  for (int64_t token : tokens)
    list += (list.empty() ? "" : ", ") + std::to_string(token);
  return tokens.size() == 1 ? list : "(" + list + ")";
}

void GenerationWriter::addTokens(StringRef setting, ArrayRef<int64_t> tokens) {
  if (!tokens.empty())
    add(setting, listOf(tokens));
}

void GenerationWriter::addNumbers(When when) {
  for (const NumberKey &key : numberKeys) {
    if (key.when != when)
      continue;
    std::optional<double> value = at(key.key).number(key.key);
    if (value && *value != key.idle)
      add(key.setting, numberText(*value));
  }
}

/// Lengths count the tokens of the prompt, or the one that a decoder begins with; the numbers of
/// new tokens go before them.
void GenerationWriter::addLengths() {
  std::optional<double> newTokens = at("max_new_tokens").number("max_new_tokens"),
                        length = at("max_length").number("max_length");
  if (length && *length == defaultLength)
    length.reset();
  double wanted = newTokens ? *newTokens : length ? *length - 1 : double(usualLimit);
  int64_t limit = std::clamp<int64_t>(int64_t(std::min(wanted, double(INT32_MAX))), 1,
                                      std::max<int64_t>(capacity - 1, 1));
  add("limit", Twine(limit));
  if ((newTokens || length) && wanted > double(capacity))
    writer.config.note("the decoder has room for " + Twine(capacity) + " tokens, fewer than `" +
                       (newTokens ? "max_new_tokens" : "max_length") + "`");
  if (length && !newTokens && !readsSource)
    add("max_length", Twine(std::clamp<int64_t>(int64_t(*length), 1, capacity)));
  std::optional<double> least = at("min_new_tokens").number("min_new_tokens"),
                        shortest = at("min_length").number("min_length");
  if (!least && shortest && readsSource)
    least = *shortest - 1;
  else if (!least && shortest && *shortest > 0)
    add("min_length", numberText(*shortest));
  if (least && *least > 0)
    add("min_tokens", numberText(*least));
}

void GenerationWriter::addDrawing() {
  Config &of = at("temperature");
  double temperature = of.number("temperature").value_or(1);
  if (!(temperature > 0))
    of.refuse("temperature", "more than 0, where `do_sample` is true");
  add("temperature", numberText(temperature));
  addNumbers(When::Drawn);
  // The default of the published class.
  if (double k = at("top_k").number("top_k").value_or(50); k > 0)
    add("top_k", numberText(k));
  add("seed", "1");
}

void GenerationWriter::addBeams(int64_t beams) {
  if (beams > rows)
    at("num_beams").refuse("num_beams", "1 to " + Twine(rows) + ", as many rows as a step has");
  add("beams", Twine(beams));
  if (at("num_beam_groups").number("num_beam_groups").value_or(1) != 1)
    at("num_beam_groups").refuse("num_beam_groups", "1: beams are not chosen in groups");
  addNumbers(When::Beams);
  Config &of = at("early_stopping");
  const json::Value *stopping = of.valueAt("early_stopping");
  bool isNever = stopping && stopping->getAsString() == StringRef("never");
  if (isNever || (stopping && stopping->getAsBoolean() == true))
    add("early_stopping", isNever ? "never" : "true");
  else if (stopping && !stopping->getAsBoolean())
    of.refuse("early_stopping", "true, false or \"never\"");
  if (at("renormalize_logits").flag("renormalize_logits", false))
    add("renormalize", "true");
}

void GenerationWriter::addWords() {
  Config &of = at("bad_words_ids");
  const json::Value *value = of.valueAt("bad_words_ids");
  const json::Array *words = value ? value->getAsArray() : nullptr;
  bool isGood = !value || words;
  std::vector<std::string> texts;
  for (size_t i = 0; words && i < words->size(); ++i) {
    const json::Array *word = (*words)[i].getAsArray();
    std::vector<int64_t> tokens;
    for (size_t t = 0; word && t < word->size(); ++t)
      tokens.push_back((*word)[t].getAsInteger().value_or(-1));
    isGood &= !tokens.empty() && !is_contained(tokens, -1);
    texts.push_back(listOf(tokens));
  }
  if (!isGood)
    of.refuse("bad_words_ids", "a list of lists of tokens");
  // One word of several tokens is in parentheses of its own.
  bool isPlain = texts.size() == 1 && texts[0].front() != '(';
  if (!texts.empty())
    add("bad_words", isPlain ? texts[0] : "(" + join(texts, ", ") + ")");
}

void GenerationWriter::addDecay() {
  StringRef key = "exponential_decay_length_penalty";
  std::vector<double> numbers = at(key).numbers(key);
  if (numbers.empty())
    return;
  if (numbers.size() != 2)
    return at(key).refuse(key, "where it begins, and a factor");
  add("decay_from", numberText(numbers[0]));
  add("decay", numberText(numbers[1]));
}

std::string GenerationWriter::settings() {
  addTokens("stop", tokensOfBoth("eos_token_id"));
  addLengths();
  if (readsSource)
    addTokens("force", forcedTokens());
  addTokens("force_last", at("forced_eos_token_id").sizes("forced_eos_token_id"));
  addTokens("suppress", at("suppress_tokens").sizes("suppress_tokens"));
  addTokens("suppress_first", at("begin_suppress_tokens").sizes("begin_suppress_tokens"));
  addWords();
  addNumbers(When::Always);
  addDecay();
  bool isDrawn = at("do_sample").flag("do_sample", false);
  auto beams = int64_t(at("num_beams").number("num_beams").value_or(1));
  if (isDrawn && beams > 1)
    at("num_beams")
        .refuse("num_beams", "1, where `do_sample` is true",
                "say which it is: beams are not drawn");
  else if (isDrawn)
    addDrawing();
  else if (beams > 1)
    addBeams(beams);
  return text;
}

int64_t GenerationWriter::begin() {
  std::vector<int64_t> begin = tokensOfBoth("decoder_start_token_id");
  if (begin.empty())
    writer.config.refuse("decoder_start_token_id", "the token that a decoder begins with");
  return begin.empty() ? 0 : begin.front();
}

/// The token that a table of the config (`lang_to_id`, `task_to_id`) has for what is named by
/// `key`: "<|de|>", "de" or "transcribe". Nothing where the config names none.
std::optional<int64_t> GenerationWriter::tokenOf(StringRef key, StringRef table) {
  Config &generation = at(key);
  const json::Object *tokens = generation.mapAt(table);
  std::string name = generation.text(key, "");
  if (!tokens || name.empty())
    return std::nullopt;
  for (const std::string &known : {name, "<|" + name + "|>"})
    if (auto token = tokens->getInteger(known))
      return token;
  generation.refuse(key, "one of those in `" + table + "`");
  return std::nullopt;
}

/// The tokens that Whisper's newer configs put first: language and task where both are said, and
/// that there are no timestamps. Without a language it is what the model hears: nothing is forced.
std::vector<int64_t> GenerationWriter::spokenTokens() {
  Config &generation = at("no_timestamps_token_id");
  std::vector<int64_t> found;
  if (generation.flag("is_multilingual", true)) {
    auto language = tokenOf("language", "lang_to_id");
    auto task = tokenOf("task", "task_to_id");
    const json::Object *tasks = generation.mapAt("task_to_id");
    if (!task && tasks)
      task = tasks->getInteger("transcribe");
    if (!language || !task)
      return found;
    found = {*language, *task};
  }
  for (int64_t token : generation.sizes("no_timestamps_token_id"))
    found.push_back(token);
  return found;
}

/// The tokens that come first: those of forced_decoder_ids, or forced_bos_token_id. A place in the
/// first that is null is chosen by the model, which leaves none to be forced.
std::vector<int64_t> GenerationWriter::forcedTokens() {
  std::vector<int64_t> found;
  const json::Value *value = at("forced_decoder_ids").valueAt("forced_decoder_ids");
  if (const json::Array *pairs = value ? value->getAsArray() : nullptr)
    for (const json::Value &pair : *pairs)
      if (const json::Array *two = pair.getAsArray(); two && two->size() == 2) {
        if ((*two)[1].getAsNull())
          return {};
        if (auto token = (*two)[1].getAsInteger())
          found.push_back(*token);
      }
  if (found.empty() && at("no_timestamps_token_id").has("no_timestamps_token_id"))
    return spokenTokens();
  if (!found.empty())
    return found;
  return at("forced_bos_token_id").sizes("forced_bos_token_id");
}

void writeGeneration(FamilyWriter &writer, int64_t capacity, Users users) {
  GenerationWriter generation(writer, capacity, /*readsSource=*/false);
  writer.os
      << "entry scores = forward  // of all positions\n"
      << "entry prefill = forward last T  // the prompt, or a piece of it: scores of what follows\n"
      << "entry decode = forward[T: 1] last T  // one token more\n"
      << (users == Users::ShareSteps
              ? "entry serve = forward by B last T  // of many users, each with its own length\n"
              : "")
      << "entry generate = unfold(prefill, decode" << generation.settings() << ")\n";
  generation.finish();
}

std::string generationSettings(FamilyWriter &writer, int64_t capacity) {
  GenerationWriter generation(writer, capacity, /*readsSource=*/false);
  std::string text = generation.settings();
  generation.finish();
  return text;
}

void writeGenerationWithPictures(FamilyWriter &writer, int64_t capacity) {
  writer.os << "entry decode = forward[T: 1] last T  // one token more\n"
            << "entry generate = unfold(prefill, decode, token = token"
            << generationSettings(writer, capacity) << ")\n";
}

std::string generationEntries(FamilyWriter &writer, int64_t capacity) {
  std::string text;
  raw_string_ostream os(text);
  FamilyWriter inner{writer.folder, writer.config,       os,         writer.type,
                     writer.model,  writer.architecture, writer.task};
  writeGeneration(inner, capacity);
  return text;
}

void writeEncoderDecoderGeneration(FamilyWriter &writer, StringRef source, int64_t capacity) {
  GenerationWriter generation(writer, capacity, /*readsSource=*/true);
  int64_t begin = generation.begin();
  writer.os
      << "entry scores = forward  // of all positions\n"
      << "entry read = forward only cross  // fills the decoder's keys and values of what is read\n"
      << "entry next = forward[T: 1] without " << source << " last T  // one token more\n"
      << "entry write = unfold(read, next, begin = " << begin << generation.settings() << ")\n";
  generation.finish();
}

} // namespace attn::importer
