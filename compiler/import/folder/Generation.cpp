// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The entries of a decoder, and what generation_config.json says of its loop over tokens.
#include "compiler/import/folder/Families.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace attn::importer {

/// The tokens that end a text, of generation_config.json, or of config.json where that says none.
static std::vector<int64_t> stopTokens(FamilyWriter &writer, Config &generation) {
  std::vector<int64_t> stops = generation.sizes("eos_token_id");
  return stops.empty() ? writer.config.sizes("eos_token_id") : stops;
}

/// A list of tokens as a number of `unfold`: ", stop = 2", or nothing.
static std::string listText(StringRef name, llvm::ArrayRef<int64_t> tokens) {
  if (tokens.empty())
    return "";
  std::string list;
  for (int64_t token : tokens)
    list += (list.empty() ? "" : ", ") + std::to_string(token);
  return (", " + name + " = " + (tokens.size() == 1 ? list : "(" + list + ")")).str();
}

void writeGeneration(FamilyWriter &writer, int64_t capacity) {
  json::Object empty;
  Config generation(writer.folder.generation ? *writer.folder.generation : empty,
                    "generation_config.json");
  raw_ostream &os = writer.os;
  os << "entry scores = forward  // of all positions\n"
     << "entry prefill = forward last T  // the prompt, or a piece of it: scores of what follows\n"
     << "entry decode = forward[T: 1] last T  // one token more\n"
     << "entry generate = unfold(prefill, decode, limit = "
     << std::clamp<int64_t>(capacity - 1, 1, 256);
  os << listText("stop", stopTokens(writer, generation));
  if (generation.flag("do_sample", false)) {
    os << ", temperature = " << numberText(generation.number("temperature").value_or(1));
    if (std::optional<double> p = generation.number("top_p"); p && *p < 1)
      os << ", top_p = " << numberText(*p);
    if (std::optional<double> p = generation.number("min_p"); p && *p > 0)
      os << ", min_p = " << numberText(*p);
    if (std::optional<double> k = generation.number("top_k"); k && *k > 0)
      os << ", top_k = " << numberText(*k);
    if (std::optional<double> r = generation.number("repetition_penalty"); r && *r != 1)
      os << ", repetition = " << numberText(*r);
    os << ", seed = 1";
  }
  os << ")\n";
  writer.config.adopt(generation);
}

/// Says which rules of a published generation the spec does not have.
static void noteLeftOut(FamilyWriter &writer, Config &generation) {
  for (StringRef key : {"no_repeat_ngram_size", "min_length", "forced_eos_token_id"}) {
    std::optional<double> number = generation.number(key);
    bool isIdle = number && *number == 0;
    if (generation.has(key) && !isIdle)
      writer.config.note("`" + key + "` of generation_config.json is left out");
  }
}

/// Tokens that are never chosen.
static std::vector<int64_t> suppressed(Config &generation) {
  std::vector<int64_t> found = generation.sizes("suppress_tokens");
  const json::Value *value = generation.valueAt("bad_words_ids");
  if (const json::Array *words = value ? value->getAsArray() : nullptr)
    for (const json::Value &word : *words)
      if (const json::Array *tokens = word.getAsArray(); tokens && tokens->size() == 1)
        if (auto token = (*tokens)[0].getAsInteger())
          found.push_back(*token);
  return found;
}

/// The token that a table of the config (`lang_to_id`, `task_to_id`) has for what is named by
/// `key`: "<|de|>", "de" or "transcribe". Nothing where the config names none.
static std::optional<int64_t> tokenOf(Config &generation, StringRef key, StringRef table) {
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
static std::vector<int64_t> spokenTokens(Config &generation) {
  std::vector<int64_t> found;
  if (generation.flag("is_multilingual", true)) {
    auto language = tokenOf(generation, "language", "lang_to_id");
    auto task = tokenOf(generation, "task", "task_to_id");
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
static std::vector<int64_t> forcedTokens(Config &generation) {
  std::vector<int64_t> found;
  const json::Value *value = generation.valueAt("forced_decoder_ids");
  if (const json::Array *pairs = value ? value->getAsArray() : nullptr)
    for (const json::Value &pair : *pairs)
      if (const json::Array *two = pair.getAsArray(); two && two->size() == 2) {
        if ((*two)[1].getAsNull())
          return {};
        if (auto token = (*two)[1].getAsInteger())
          found.push_back(*token);
      }
  if (found.empty() && generation.has("no_timestamps_token_id"))
    return spokenTokens(generation);
  return found.empty() ? generation.sizes("forced_bos_token_id") : found;
}

void writeWriting(FamilyWriter &writer, StringRef source, int64_t capacity) {
  const json::Object &object =
      writer.folder.generation ? *writer.folder.generation : writer.folder.config;
  Config generation(object, writer.folder.generation ? "generation_config.json" : "config.json");
  raw_ostream &os = writer.os;
  std::vector<int64_t> begin = generation.sizes("decoder_start_token_id");
  if (begin.empty())
    begin = writer.config.sizes("decoder_start_token_id");
  if (begin.empty())
    writer.config.refuse("decoder_start_token_id", "the token that a decoder begins with");
  os << "entry scores = forward  // of all positions\n"
     << "entry read = forward only cross  // fills the decoder's keys and values of what is read\n"
     << "entry next = forward[T: 1] without " << source << " last T  // one token more\n"
     << "entry write = unfold(read, next, begin = " << (begin.empty() ? 0 : begin.front())
     << listText("stop", stopTokens(writer, generation))
     << ", limit = " << std::clamp<int64_t>(capacity - 1, 1, 256)
     << listText("force", forcedTokens(generation)) << listText("suppress", suppressed(generation))
     << listText("suppress_first", generation.sizes("begin_suppress_tokens"));
  std::optional<double> beams = generation.number("num_beams");
  if (beams && *beams > 1) {
    os << ", beams = " << numberText(*beams);
    if (std::optional<double> penalty = generation.number("length_penalty");
        penalty && *penalty != 1)
      os << ", length_penalty = " << numberText(*penalty);
  }
  os << ")\n";
  noteLeftOut(writer, generation);
  writer.config.adopt(generation);
}

} // namespace attn::importer
