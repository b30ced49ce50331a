// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The values of a config.json that decoders in Llama's form have.
#include "compiler/import/checkpoint/families/llama/Llama.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace llvm;

namespace attn::importer {

void LlamaWriter::readHeads() {
  width = config.size("hidden_size");
  heads = config.size("num_attention_heads");
  bool isGroupSilent = config.isSilent("num_key_value_heads") && !writer.ofLlamaCpp();
  groups = config.size("num_key_value_heads", isGroupSilent && kind.groups ? kind.groups : heads);
  // What a published class takes where nothing is said; null and the file of llama.cpp mean the
  // width, shared out.
  bool isGiven = config.has("head_dim") ||
                 (kind.features && config.isSilent("head_dim") && !writer.ofLlamaCpp());
  if (!isGiven && width % heads)
    config.refuse("num_attention_heads", "a divisor of `hidden_size`");
  int64_t shared = std::max<int64_t>(width / heads, 1);
  features = config.size("head_dim", isGiven ? kind.features : shared);
  if (features % 2)
    config.refuse(config.has("head_dim") ? "head_dim" : "num_attention_heads",
                  "heads with an even number of features, whose pairs turn; `hidden_size` / "
                  "`num_attention_heads` is " +
                      Twine(shared));
  if (heads % groups)
    config.refuse("num_key_value_heads", "a divisor of `num_attention_heads`");
}

void LlamaWriter::readSizes() {
  readHeads();
  layers = config.size("num_hidden_layers");
  hidden = config.size(kind.experts ? kind.experts->hiddenKey : "intermediate_size");
  tokens = config.size("vocab_size");
  positions = config.size("max_position_embeddings");
  eps = config.number("rms_norm_eps", kind.eps);
  // What a published class does not ask for changes nothing, whatever its config says.
  bool isAsked =
      is(BiasIfAsked) && config.flag("attention_bias", is(Sinks) && !writer.ofLlamaCpp());
  hasBias = is(InputBias) || isAsked;
  hasOutBias = !is(InputBias) && hasBias;
  hasMlpBias = is(MlpBiasIfAsked) && config.flag("mlp_bias", false);
  readGivenBiases();
  isTied = config.flag("tie_word_embeddings", is(Tied));
  act = is(ScaledTokens) && config.has("hidden_activation") ? "hidden_activation" : "hidden_act";
  if (!is(QueryScalar))
    return;
  queryScale = std::pow(config.number("query_pre_attn_scalar", 256), -0.5);
  auto capOf = [&](StringRef key, double otherwise) {
    bool isDefault = config.isSilent(key) && !writer.ofLlamaCpp();
    return config.number(key).value_or(isDefault ? otherwise : 0);
  };
  if (!is(LocalBase)) // Gemma 3's class keeps the number, and caps no scores of keys
    cap = capOf("attn_logit_softcapping", kind.cap);
  lastCap = capOf("final_logit_softcapping", kind.lastCap);
}

void LlamaWriter::readDirections() {
  bool isTwoSided = config.flag("use_bidirectional_attention", false);
  if (isTwoSided && !is(LocalBase))
    config.refuse("use_bidirectional_attention",
                  "false: of this model's published class it depends on the code that attends");
  seesBothWays = isTwoSided || !config.flag("is_causal", true);
  isHalfWindow = isTwoSided;
  isEncoder = seesBothWays || writer.folder.isSentence();
}

void LlamaWriter::chooseCapacity() {
  // The cache is what a run pays for: one of all positions would be gigabytes.
  int64_t most = writer.folder.isSentence() ? sentenceLength(writer, positions) : positions;
  capacity = std::min<int64_t>(most, 4096);
  int64_t shortLength = std::max(rotation.shortLength, windowed.shortLength);
  if (shortLength)
    capacity = std::min(capacity, shortLength);
  if (capacity == most)
    return;
  StringRef what = isEncoder ? "texts have up to " : "the cache holds ",
            unit = isEncoder ? " tokens, of " : " positions, of ",
            where = shortLength ? "dim C"
                    : isEncoder ? "dyn T"
                                : "cache kv capacity";
  config.note(what + Twine(capacity) + unit + Twine(most) + " that the model can be given: `" +
              where + "` says how many");
}

void LlamaWriter::readGivenBiases() {
  bool isNews = false;
  for (auto [linear, has] :
       {std::pair("self_attn.q_proj", &hasBias), std::pair("self_attn.o_proj", &hasOutBias),
        std::pair("mlp.gate_proj", &hasMlpBias)})
    if (!*has && writer.folder.has(prefix + "layers.0." + linear + ".bias"))
      isNews = *has = true;
  if (isNews)
    config.note("there are biases of linears that `config.json` does not tell of, as AutoGPTQ "
                "writes them where all are 0");
}

void LlamaWriter::readExperts() {
  if (!kind.experts)
    return;
  // transformers 5 writes what the class's own key stands for.
  StringRef count = kind.experts->countKey, newer = "num_local_experts";
  experts = config.size(config.has(count) ? count : config.has(newer) ? newer : count);
  if (config.has(newer) && config.size(newer) != experts)
    config.refuse(newer, Twine(experts) + ", which is `" + count + "`");
  chosen = config.size("num_experts_per_tok");
  if (chosen > experts)
    config.refuse("num_experts_per_tok", "at most " + Twine(experts) + ", the number of experts");
  if (config.size("decoder_sparse_step", 1) != 1 || !config.sizes("mlp_only_layers").empty())
    config.refuse("decoder_sparse_step", "1, and no `mlp_only_layers`: experts in every layer");
}

void LlamaWriter::readKindsOfLayers() {
  std::vector<std::string> types = config.texts("layer_types");
  if (!types.empty() && !is(TypedLayers)) {
    if (any_of(types, [&](const std::string &type) { return type != types.front(); }))
      config.note("`layer_types` is left out, as the published class of this model leaves it out: "
                  "all layers are alike");
    types.clear();
  }
  if (!types.empty() && types.size() != size_t(layers))
    config.refuse("layer_types", "one for each of " + Twine(layers) + " layers");
  for (const std::string &type : types) {
    if (type != "full_attention" && type != "sliding_attention")
      config.refuse("layer_types", "`full_attention` and `sliding_attention`");
    isFull.push_back(type == "full_attention");
  }
  int64_t every = kind.fullEvery;
  if (is(LocalBase))
    every = config.size("sliding_window_pattern", every);
  double firstWindowed = 0;
  if (is(LastWindowed))
    firstWindowed = config.number("max_window_layers").value_or(writer.ofLlamaCpp() ? 1e9 : 28);
  for (int64_t n = 0; types.empty() && n < layers; ++n)
    isFull.push_back(every ? (n + 1) % every == 0 : double(n) < firstWindowed);
}

void LlamaWriter::readLayers() {
  bool isAsked = !is(WindowIfAsked) || config.flag("use_sliding_window", false),
       isDefault = kind.window && config.isSilent("sliding_window") && !writer.ofLlamaCpp(),
       hasNone = !kind.window && !writer.ofLlamaCpp() && !is(OptionalWindow);
  int64_t window = config.has("sliding_window") && isAsked && !hasNone
                       ? config.size("sliding_window")
                   : isDefault && isAsked ? kind.window
                                          : 0;
  readKindsOfLayers();
  bool isWindowed = any_of(isFull, [](bool full) { return !full; });
  if (isWindowed && !window && config.has("layer_types") && is(TypedLayers))
    config.refuse("layer_types", "`full_attention` alone, since there is no window",
                  is(WindowIfAsked) ? "`use_sliding_window` and `sliding_window` say one" : "");
  // What one side has is the token itself, too; of both, distances count.
  reach = !window ? 0 : isHalfWindow ? window / 2 : seesBothWays ? window : window - 1;
  if (!isWindowed || reach >= positions - 1) // which every position sees all of
    reach = 0;
  else if (window && !reach)
    config.refuse("sliding_window", "at least 2: no layer sees its own token alone");
  bool isOneKind = all_of(isFull, [&](bool full) { return full == isFull.front(); });
  isAllWindowed = isOneKind && isWindowed;
  if (isOneKind)
    isFull.clear();
}

void LlamaWriter::readRotations() {
  Config parameters = config.within("rope_parameters"), scaling = config.within("rope_scaling");
  bool hasScaling = config.has("rope_scaling"),
       isByType = parameters.has("full_attention") || parameters.has("sliding_attention");
  if (hasScaling && config.has("rope_parameters"))
    config.note("`rope_scaling` counts, and `rope_parameters` says " +
                Twine(isByType ? "what it does not" : "nothing beside it"));
  if (is(LocalBase) && config.has("rope_parameters") && !isByType)
    config.refuse("rope_parameters", "`full_attention` and `sliding_attention`, each with its own");
  if (hasScaling && !isByType)
    config.valueAt("rope_parameters"); // which counts as read
  if (hasScaling)
    parameters.valueAt("full_attention");
  if (isByType) // the library adds these where the layers are of one type
    parameters.passOver({"rope_type", "rope_theta"});
  Config full = parameters.within("full_attention"),
         sliding = parameters.within("sliding_attention");
  json::Object given{{"rope_type", "yarn"},
                     {"factor", 32},
                     {"truncate", false},
                     {"original_max_position_embeddings", 4096}};
  Config ofClass(given, "config.json");
  bool isOfClass = kind.type == "gpt_oss" && config.isSilent("rope_scaling") &&
                   config.isSilent("rope_parameters") && !writer.ofLlamaCpp();
  RopeReader rope{config,
                  features,
                  positions,
                  is(PartsOfHeads) || writer.ofLlamaCpp(),
                  is(YarnIsLongRope),
                  is(YarnIsLongRope) && !writer.ofLlamaCpp() ? 4096 : 0};
  rotation = rope.read(hasScaling  ? scaling
                       : isByType  ? full
                       : isOfClass ? ofClass
                                   : parameters,
                       "rope_theta", kind.base);
  if (!writer.folder.ropeFactors.empty())
    rotation.scaling = rope.scalingOf(writer.folder.ropeFactors, rotation.base);
  windowed = rotation;
  bool hasWindowed = !isFull.empty() || isAllWindowed;
  if (!hasWindowed)
    parameters.valueAt("sliding_attention");
  if (hasWindowed && (isByType || is(LocalBase)))
    windowed = rope.read(sliding, is(LocalBase) ? "rope_local_base_freq" : "rope_theta",
                         is(LocalBase) ? 10000 : kind.base);
  if (isAllWindowed)
    rotation = windowed;
}

} // namespace attn::importer
