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

} // namespace attn::importer
