// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What hybrids in Llama's form have beside attention: which layers have a mixer, what the config
// says of parts of a layer, and how a layer calls both.
#include "compiler/import/checkpoint/families/llama/Llama.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace llvm;

namespace attn::importer {

void LlamaConfig::adjustWidth() {
  if (!config.flag("block_auto_adjust_ff_dim", true))
    return;
  hidden = 2 * hidden / 3;
  bool hasFactor =
      config.isSilent("block_ffn_dim_multiplier") || config.has("block_ffn_dim_multiplier");
  if (!hasFactor)
    return;
  hidden = int64_t(config.number("block_ffn_dim_multiplier", 1) * double(hidden));
  hidden =
      int64_t(llvm::alignTo(uint64_t(hidden), uint64_t(config.size("block_multiple_of", 256))));
}

void LlamaConfig::readPartScales() {
  for (auto [key, scale] : {std::pair("embedding_multiplier", &tokenScale),
                            {"lm_head_multiplier", &lastScale},
                            {"key_multiplier", &keyScale},
                            {"attention_in_multiplier", &attentionInScale},
                            {"attention_out_multiplier", &attentionOutScale},
                            {"ssm_out_multiplier", &mixerScale}})
    *scale = config.number(key, 1);
  std::vector<double> both = config.numbers("mlp_multipliers");
  if (both.size() == 2)
    gateScale = both[0], downScale = both[1];
  else if (!both.empty())
    config.refuse("mlp_multipliers", "two numbers, of the gate and of the map back");
}

/// The words of a text.
static SmallVector<StringRef> words(StringRef text) {
  SmallVector<StringRef> all;
  text.split(all, ' ');
  return all;
}

void LlamaConfig::readMixers() {
  if (kind.mixer == LlamaMixer::None)
    return;
  const MixerForm &form = mixerForm(kind.mixer);
  auto read = [&] {
    mixer = readMixer(form, {writer, kind.mixer, eps, [&](StringRef x) { return activated(x); }});
  };
  if (form.isBeside)
    return read();
  std::vector<std::string> types;
  bool isSaid = !form.periodKey.empty();
  int64_t period = isSaid ? config.size(form.periodKey, form.period) : form.period;
  auto offset = isSaid ? int64_t(config.number(form.offsetKey, double(form.offset))) : form.offset;
  if (!isSaid)
    types = config.texts("layer_types");
  bool isPeriodic = types.empty() && form.period;
  if (!types.empty() && types.size() != size_t(layers))
    config.refuse("layer_types", "one for each of " + Twine(layers) + " layers");
  SmallVector<StringRef> mixing = words(form.types), attending = words("full_attention attention");
  std::vector<double> listed;
  bool isListed = types.empty() && !form.attendingKey.empty() && config.has(form.attendingKey);
  if (isListed)
    listed = config.numbers(form.attendingKey);
  int64_t every =
      types.empty() && form.attendingKey.empty() ? config.size("full_attention_interval", 4) : 0;
  for (int64_t n = 0; n < layers; ++n) {
    StringRef type = size_t(n) < types.size() ? StringRef(types[size_t(n)]) : "";
    if (!types.empty() && !is_contained(mixing, type) && !is_contained(attending, type))
      return config.refuse("layer_types", "`full_attention` and `" + mixing.front() + "`");
    isAttending.push_back(isPeriodic       ? n % period == offset
                          : !types.empty() ? is_contained(attending, type)
                          : every          ? (n + 1) % every == 0
                          : isListed       ? is_contained(listed, double(n))
                                           : form.attendsUnsaid);
  }
  if (llvm::none_of(isAttending, [](bool attends) { return attends; }))
    return config.refuse(isSaid                                        ? form.periodKey
                         : types.empty() && !form.attendingKey.empty() ? form.attendingKey
                                                                       : "layer_types",
                         "a layer of `full_attention` at least");
  if (isEncoder)
    return config.refuse("is_causal", "true, and no sentence encoder: recurrences see what was");
  if (llvm::all_of(isAttending, [](bool attends) { return attends; }))
    return isAttending.clear();
  read();
}

void LlamaConfig::readResidualScales() {
  for (size_t i = 0; i < 3; ++i) {
    std::string key = i == 0 ? "full_attn" : i == 1 ? "linear_attn" : "mlp";
    alphas[i] = config.number(key + "_alpha_factor", 1);
    betas[i] = config.number(key + "_beta_factor", 1);
  }
}

std::string LlamaWriter::weighed(StringRef kept, const std::string &made, size_t part) const {
  auto scaled = [](StringRef what, double scale) {
    return (what + (scale == 1 ? "" : " * " + numberText(scale))).str();
  };
  return scaled(kept, alphas[part]) + " + " + scaled(made, betas[part]);
}

/// Words and letters for what a layer is: attention, a mixer, experts, a feed-forward.
static char letterOf(StringRef type) {
  return StringSwitch<char>(type)
      .Cases({"attention", "full_attention", "*"}, '*')
      .Cases({"mamba", "linear_attention", "M"}, 'M')
      .Cases({"moe", "E"}, 'E')
      .Cases({"mlp", "-"}, '-')
      .Default(0);
}

void LlamaConfig::readParts() {
  StringRef key = config.has("layers_block_type") ? "layers_block_type" : "layer_types",
            pattern = "hybrid_override_pattern";
  std::vector<std::string> types = config.texts(key);
  bool isPattern = types.empty();
  if (isPattern)
    for (char letter : config.text(pattern, ""))
      types.push_back(std::string(1, letter));
  layers = int64_t(types.size());
  std::string letters;
  for (const std::string &type : types)
    letters += letterOf(type);
  if (letters.empty() || is_contained(letters, 0))
    return config.refuse(isPattern ? pattern : key, isPattern
                                                        ? "letters `M`, `*`, `E` and `-`"
                                                        : "`mamba`, `attention`, `moe` and `mlp`");
  for (char letter : letters) {
    isAttending.push_back(letter == '*');
    isMixing.push_back(letter == 'M');
    isRouted.push_back(letter == 'E');
    hasDense |= letter == '-';
  }
  if (!is_contained(letters, '*') || !is_contained(letters, 'M'))
    config.refuse(isPattern ? pattern : key, "a layer with attention and one of Mamba at least");
  if (!is_contained(letters, 'E'))
    isRouted.clear();
}

void LlamaWriter::writeOnePart() {
  StringRef names = ", kv: cache", part = mixer.isFlat ? " = \"\" if " : " = \"mixer\" if ";
  os << mixer.text;
  writeAttentionBlock();
  if (hasDense)
    writeDenseBlock(denseHidden ? "Z" : "F");
  if (experts)
    writeRoutedBlock();
  os << "block Layer[T](x: [B, T, D]" << names << mixer.parameters()
     << "; attends = true, mixes = true" << (experts ? ", routed = true" : "") << ") -> [B, T, D]"
     << mixer.types() << " {\n"
     << norms.declared({places.beforeAttention}, "D", eps) << "part attention: Attention" << part
     << "attends\npart mamba: Mamba" << part << "mixes\n";
  StringRef neither = "not (attends or mixes";
  if (hasDense)
    os << "part dense_mlp: Dense" << part << neither << (experts ? " or routed)\n" : ")\n");
  if (experts)
    os << "part routed_mlp: Routed" << part << "routed\n";
  std::string kept = mixer.names(), fed = !experts ? "dense_mlp(n)"
                                          : !hasDense
                                              ? "routed_mlp(n)"
                                              : "if routed then routed_mlp(n) else dense_mlp(n)";
  os << "let n = " << norms.of(places.beforeAttention, "x") << "\nlet made" << mixer.names("next_")
     << " = if attends then (attention(n, kv)" << kept << ") else if mixes then mamba(n" << kept
     << ") else (" << (experts || hasDense ? fed : "n") << kept << ")\nreturn x + made"
     << mixer.names("next_") << "\n}\n\n";
}

void LlamaWriter::writeMixers() {
  os << mixer.text;
  writeAttentionBlock();
}

void LlamaWriter::writeAttentionBlock() {
  os << "block Attention[T](n: [B, T, D]" << (isPlaced() ? ", phase: [B, T, AP]" : "")
     << ", kv: cache) -> [B, T, D] {\n";
  declareAttention();
  writeTables();
  std::string whole = attended("n");
  os << "return " << whole << "\n}\n\n";
}

std::string LlamaWriter::writeMixed(const std::string &n) {
  auto scaled = [](const std::string &what, double scale) {
    return scale == 1 ? what : what + " * " + numberText(scale);
  };
  if (isAttending.empty()) {
    os << "let read" << mixer.names("next_") << " = " << mixer.part << "(" << n << mixer.names()
       << ")\n";
    return "(" + scaled("attention(" + scaled(n, attentionInScale) + ", kv)", attentionOutScale) +
           " + " + scaled("read", mixerScale) + ")";
  }
  if (is(NormedResidual)) {
    os << "let made" << mixer.names("next_") << " = if attends then (attention(" << n << ", kv)"
       << mixer.names() << ") else " << mixer.part << "(" << n << mixer.names()
       << ")\nlet mixed = if attends then " << weighed(n, "made", 0) << " else "
       << weighed(n, "made", 1) << '\n';
    return "mixed";
  }
  os << "let mixed" << mixer.names("next_") << " = if attends then (attention(" << n
     << (isPlaced() ? ", phase" : "") << ", kv)" << mixer.names() << ") else " << mixer.part << "("
     << n << mixer.names() << ")\n";
  return "mixed";
}

} // namespace attn::importer
