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

void writeGeneration(FamilyWriter &writer, int64_t capacity) {
  json::Object empty;
  Config generation(writer.folder.generation ? *writer.folder.generation : empty,
                    "generation_config.json");
  raw_ostream &os = writer.os;
  os << "entry scores = forward  // of all positions\n"
     << "entry prefill = forward last T  // the prompt, or a piece of it: scores of what follows\n"
     << "entry decode = forward[T: 1] last T  // one token more\n"
     << "entry generate = unfold(prefill, decode, limit = " << std::min<int64_t>(256, capacity - 1);
  std::vector<int64_t> stops = stopTokens(writer, generation);
  std::vector<std::string> texts;
  for (int64_t stop : stops)
    texts.push_back(std::to_string(stop));
  if (!stops.empty())
    os << ", stop = " << (stops.size() == 1 ? texts[0] : "(" + join(texts, ", ") + ")");
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
  for (StringRef key :
       {"no_repeat_ngram_size", "min_length", "begin_suppress_tokens", "forced_eos_token_id"}) {
    std::optional<double> number =
        key == "begin_suppress_tokens" ? std::nullopt : generation.number(key);
    bool isIdle = number && *number == 0;
    if (generation.has(key) && !isIdle)
      writer.config.note("`" + key + "` of generation_config.json is left out");
  }
}

/// Tokens that are never chosen.
static std::vector<std::string> suppressed(Config &generation, const json::Object &object) {
  std::vector<std::string> texts;
  for (int64_t token : generation.sizes("suppress_tokens"))
    texts.push_back(std::to_string(token));
  if (const json::Array *words = object.getArray("bad_words_ids"))
    for (const json::Value &word : *words)
      if (const json::Array *tokens = word.getAsArray(); tokens && tokens->size() == 1)
        if (auto token = (*tokens)[0].getAsInteger())
          texts.push_back(std::to_string(*token));
  return texts;
}

/// The tokens that come first: those of forced_decoder_ids, or forced_bos_token_id.
static std::vector<std::string> forcedTokens(Config &generation, const json::Object &object) {
  std::vector<std::string> texts;
  if (const json::Array *pairs = object.getArray("forced_decoder_ids"))
    for (const json::Value &pair : *pairs)
      if (const json::Array *two = pair.getAsArray(); two && two->size() == 2)
        if (auto token = (*two)[1].getAsInteger())
          texts.push_back(std::to_string(*token));
  if (texts.empty())
    for (int64_t token : generation.sizes("forced_bos_token_id"))
      texts.push_back(std::to_string(token));
  return texts;
}

/// A list of tokens as a number of `unfold`: ", stop = 2", or nothing.
static std::string listText(StringRef name, llvm::ArrayRef<std::string> tokens) {
  if (tokens.empty())
    return "";
  std::string list = tokens.size() == 1 ? tokens[0] : "(" + join(tokens, ", ") + ")";
  return (", " + name + " = " + list).str();
}

void writeWriting(FamilyWriter &writer, StringRef source, int64_t capacity) {
  const json::Object &object =
      writer.folder.generation ? *writer.folder.generation : writer.folder.config;
  Config generation(object, writer.folder.generation ? "generation_config.json" : "config.json");
  raw_ostream &os = writer.os;
  std::vector<std::string> stops;
  for (int64_t stop : stopTokens(writer, generation))
    stops.push_back(std::to_string(stop));
  std::vector<int64_t> begin = generation.sizes("decoder_start_token_id");
  if (begin.empty())
    begin = writer.config.sizes("decoder_start_token_id");
  if (begin.empty())
    writer.config.refuse("decoder_start_token_id", "the token that a decoder begins with");
  os << "entry scores = forward  // of all positions\n"
     << "entry read = forward only cross  // fills the decoder's keys and values of what is read\n"
     << "entry next = forward[T: 1] without " << source << " last T  // one token more\n"
     << "entry write = unfold(read, next, begin = " << (begin.empty() ? 0 : begin.front())
     << listText("stop", stops) << ", limit = " << std::min<int64_t>(256, capacity - 1)
     << listText("force", forcedTokens(generation, object))
     << listText("suppress", suppressed(generation, object));
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
