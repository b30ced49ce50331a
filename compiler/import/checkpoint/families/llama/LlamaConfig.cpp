// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The values of a config.json that decoders in Llama's form have.
#include "compiler/import/checkpoint/families/llama/Llama.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace llvm;

namespace attn::importer {

bool LlamaConfig::turnsByLayer() const { return !isFull.empty() && !(rotation == windowed); }

std::string LlamaConfig::activated(StringRef x) const {
  return act.empty() ? activationOf(config, "model_type", kind.act, x)
                     : activation(config, act, kind.act, x);
}

void LlamaConfig::readHeads() {
  width = config.size("hidden_size");
  heads = config.size("num_attention_heads");
  if (kind.latent.ofKeys)
    return readLatent();
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

void LlamaConfig::readSizes() {
  readHeads();
  if (is(OnePart))
    readParts();
  else
    layers = config.size("num_hidden_layers");
  StringRef hiddenKey = kind.experts && (!is(OnePart) || !isRouted.empty())
                            ? kind.experts->hiddenKey
                            : "intermediate_size";
  bool isAdjusted = is(AdjustedWidth);
  hidden = config.size(isAdjusted && config.has("block_ff_dim") ? "block_ff_dim" : hiddenKey);
  if (isAdjusted)
    adjustWidth();
  tokens = config.size("vocab_size");
  positions = config.size("max_position_embeddings");
  eps = kind.epsKey.empty() && !writer.ofLlamaCpp()
            ? kind.eps
            : config.number(kind.epsKey.empty() ? "layer_norm_eps" : kind.epsKey, kind.eps);
  isTied = config.flag("tie_word_embeddings", is(Tied)) && !is(NeverTied);
  if (is(TieEmbedding))
    isTied = config.flag("tie_embedding", isTied);
  turnsNeighbours = writer.folder.turnsNeighbours || is(Neighbours) ||
                    (is(NeighboursUnlessSaid) && config.flag("rope_interleave", true));
  isParallel = is(Parallel) || (is(ParallelIfAsked) && config.flag("use_parallel_residual", false));
  act =
      is(ScaledTokens) && config.has("hidden_activation") ? "hidden_activation" : kind.actKey.str();
  if (is(Clipped))
    clip = config.number("clip_qkv").value_or(0);
  if (kind.headNormKey.empty() || config.flag(kind.headNormKey, false))
    headNorm = kind.headNorm;
  isXielu = kind.act == "xielu" && config.text(act, kind.act) == kind.act;
  places = kind.places;
  if (is(NormsBehindIfSaid) && !config.flag("use_post_norm", true))
    places.behindAttention = places.behindMlp = "";
  readBiases();
  readScales();
}

void LlamaConfig::readBiases() {
  // What a published class does not ask for changes nothing, whatever its config says.
  auto read = [&](const LlamaBias &bias) {
    if (bias.key.empty())
      return bias.otherwise;
    return config.flag(bias.key, bias.otherwise && !writer.ofLlamaCpp());
  };
  hasBias = read(kind.inputBias);
  hasOutBias = read(kind.outBias);
  hasMlpBias = read(kind.mlpBias);
  hasHeadBias = read(kind.headBias);
  // Biases that are there though the config does not say so.
  bool isNews = false;
  for (const auto &[linear, has] : {std::pair(std::string("self_attn.q_proj"), &hasBias),
                                    {"self_attn." + kind.out.str(), &hasOutBias},
                                    {"mlp." + kind.up.str(), &hasMlpBias}})
    if (!*has && writer.folder.has(prefix + "layers.0." + linear + ".bias"))
      isNews = *has = true;
  if (isNews && !writer.ofLlamaCpp())
    config.note("there are biases of linears that `config.json` does not tell of, as AutoGPTQ "
                "writes them where all are 0");
}

void LlamaConfig::readScales() {
  if (is(ScaledTokens))
    tokenScale = std::sqrt(double(width));
  if (is(LogitScale))
    lastScale = config.number("logit_scale", 0.0625);
  if (is(Multipliers)) {
    tokenScale = config.number("embedding_multiplier", 1);
    residualScale = config.number("residual_multiplier", 1);
    // HyperCLOVA X's class divides as usual where nothing is said.
    queryScale = is(LogitsTimes) && !config.has("attention_multiplier")
                     ? 1 / std::sqrt(double(features))
                     : config.number("attention_multiplier", 1);
    double scale = config.number("logits_scaling", 1);
    lastScale = is(LogitsTimes) ? scale : 1 / scale;
  }
  if (is(DepthScaled)) {
    auto said = [&](StringRef key, double ofClass, double without) {
      return config.isSilent(key) ? ofClass : config.number(key).value_or(without);
    };
    tokenScale = config.number("scale_emb", 12);
    double root = std::sqrt(double(layers));
    residualScale = said("scale_depth", 1.4, root) / root;
    lastScale = said("dim_model_base", 256, double(width)) / double(width);
  }
  if (is(PartMultipliers))
    readPartScales();
  if (is(NormedResidual))
    readResidualScales();
  if (is(FinalCap))
    lastCap = config.number("final_logit_softcapping")
                  .value_or(config.isSilent("final_logit_softcapping") ? kind.lastCap : 0);
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

void LlamaConfig::readDirections() {
  bool isTwoSided = config.flag("use_bidirectional_attention", false);
  if (isTwoSided && !is(LocalBase))
    config.refuse("use_bidirectional_attention",
                  "false: of this model's published class it depends on the code that attends");
  seesBothWays = isTwoSided || !config.flag("is_causal", true);
  isHalfWindow = isTwoSided;
  isEncoder = seesBothWays || writer.folder.isSentence();
}

void LlamaConfig::chooseCapacity() {
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

void LlamaConfig::readKindsOfLayers(int64_t window) {
  if (kind.mixer != LlamaMixer::None) // readMixers
    return isFull.assign(size_t(layers), true);
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
  std::string letters; // "LLLG": of each layer of a period, whether it sees all
  if (types.empty() && is(OnlyNearTurn) && !config.whole("sliding_window_pattern"))
    letters = config.text("sliding_window_pattern", "");
  if (any_of(letters, [](char letter) { return letter != 'L' && letter != 'G'; }))
    config.refuse("sliding_window_pattern", "a number, or letters `L` and `G`");
  if (types.empty() && letters.empty() && (is(LocalBase) || is(OnlyNearTurn)))
    every = config.size("sliding_window_pattern", every);
  double firstWindowed = 0;
  if (is(LastWindowed) || is(FirstWindowed))
    firstWindowed = config.number("max_window_layers")
                        .value_or(writer.ofLlamaCpp() ? 1e9 : double(kind.windowedFrom));
  for (int64_t n = 0; types.empty() && n < layers; ++n)
    isFull.push_back(!letters.empty()
                         ? n + 1 == layers || letters[size_t(n) % letters.size()] == 'G'
                     : is(OnlySaidTurn) ? !window || isTurned[size_t(n)]
                     : every            ? !window || (n + !is(FullFirst)) % every == 0 ||
                                              (is(FirstWindowed) && double(n) >= firstWindowed)
                                        : double(n) < firstWindowed);
}

void LlamaConfig::readTurns(int64_t window) {
  if (is(OnlySaidTurn)) {
    std::vector<double> said = config.numbers("no_rope_layers");
    int64_t every = said.empty() ? config.size("no_rope_layer_interval", 4) : 0;
    if (!said.empty() && said.size() < size_t(layers))
      config.refuse("no_rope_layers", "one for each of " + Twine(layers) + " layers");
    for (int64_t n = 0; n < layers; ++n)
      isTurned.push_back(every ? (n + 1) % every != 0
                               : size_t(n) < said.size() && said[size_t(n)] != 0);
  }
  readKindsOfLayers(window);
  if (is(OnlyNearTurn) && (window || kind.type == "cohere2"))
    for (bool full : isFull)
      isTurned.push_back(!full);
  if (is(NeverTurns))
    isTurned.assign(size_t(layers), false);
  if (is(TurnsIfSaid) && config.text("position_embedding_type", "nope") != "rope")
    isTurned.assign(size_t(layers), false);
  turnsNone = !isTurned.empty() && none_of(isTurned, [](bool turned) { return turned; });
  if (turnsNone || all_of(isTurned, [](bool turned) { return turned; }))
    isTurned.clear();
}

void LlamaConfig::readLayers() {
  bool isAsked = !is(WindowIfAsked) || config.flag("use_sliding_window", false),
       isDefault = kind.window && config.isSilent("sliding_window") && !writer.ofLlamaCpp(),
       hasNone = !kind.window && !writer.ofLlamaCpp() && !is(OptionalWindow);
  int64_t window = config.has("sliding_window") && isAsked && !hasNone
                       ? config.size("sliding_window")
                   : isDefault && isAsked ? kind.window
                                          : 0;
  readTurns(window);
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

/// The values of rope that a published class takes where a config says none; empty of most.
static json::Object anglesOfClass(StringRef type) {
  if (type == "gpt_oss")
    return json::Object{{"rope_type", "yarn"},
                        {"factor", 32},
                        {"truncate", false},
                        {"original_max_position_embeddings", 4096}};
  if (type == "apertus" || type == "cwm")
    return json::Object{{"rope_type", "llama3"},
                        {"factor", type == "cwm" ? 16 : 8},
                        {"original_max_position_embeddings", 8192},
                        {"low_freq_factor", 1},
                        {"high_freq_factor", 4}};
  if (type == "ministral3")
    return json::Object{
        {"rope_type", "yarn"}, {"factor", 16},        {"original_max_position_embeddings", 16384},
        {"mscale", 1},         {"mscale_all_dim", 1}, {"llama_4_scaling_beta", 0.1}};
  if (type == "mistral4")
    return json::Object{
        {"rope_type", "yarn"}, {"factor", 128},       {"original_max_position_embeddings", 8192},
        {"mscale", 1},         {"mscale_all_dim", 1}, {"llama_4_scaling_beta", 0.1}};
  return json::Object();
}

void LlamaConfig::readTempering(Config &from) {
  if (is(Tempered) && (!writer.ofLlamaCpp() || from.has("llama_4_scaling_beta"))) {
    auto number = [&](StringRef key) {
      std::optional<double> value = from.number(key);
      if (!value)
        from.refuse(key, "a number, by which the published class of this model scales queries");
      return value.value_or(1);
    };
    temper = number("llama_4_scaling_beta");
    temperLength = number("original_max_position_embeddings");
  }
  std::optional<double> alpha = is(AlphaBase) ? from.number("alpha") : std::nullopt;
  if (alpha && *alpha && from.text("rope_type", from.text("type", "default")) == "dynamic")
    rotation.base *= std::pow(*alpha, double(features) / double(features - 2));
  config.adopt(from);
}

void LlamaConfig::readRotations() {
  if (is(NeverTurns)) {
    rotation.turned = windowed.turned = features;
    return;
  }
  Config parameters = config.within("rope_parameters"), scaling = config.within("rope_scaling");
  bool hasScaling = config.has("rope_scaling"),
       isByType = parameters.has("full_attention") || parameters.has("sliding_attention");
  if (hasScaling && config.has("rope_parameters"))
    config.note("`rope_scaling` counts, and `rope_parameters` says " +
                Twine(isByType ? "what it does not" : "nothing beside it"));
  if ((is(LocalBase) || is(FullScaling)) && config.has("rope_parameters") && !isByType)
    config.refuse("rope_parameters", "`full_attention` and `sliding_attention`, each with its own");
  if (hasScaling && !isByType)
    config.valueAt("rope_parameters"); // which counts as read
  if (hasScaling)
    parameters.valueAt("full_attention");
  if (isByType) // the library adds these where the layers are of one type
    parameters.passOver({"rope_type", "rope_theta"});
  Config full = parameters.within("full_attention"),
         sliding = parameters.within("sliding_attention");
  json::Object given = anglesOfClass(kind.type);
  Config ofClass(given, "config.json");
  // Ministral 3's class takes null for nothing said, GPT-OSS's for angles without a rule.
  auto isUnsaid = [&](StringRef key) {
    return is(Tempered) ? !config.has(key) : config.isSilent(key);
  };
  bool isOfClass = !given.empty() && isUnsaid("rope_scaling") && isUnsaid("rope_parameters") &&
                   !writer.ofLlamaCpp();
  // A part of a latent head is one of all its features, where it is one at all.
  bool isOfWhole = latent.ofKeys && is(PartsOfHeads);
  int64_t whole = features + (isOfWhole ? latent.plain : 0);
  RopeReader rope{config,
                  whole,
                  positions,
                  is(PartsOfHeads) || (writer.ofLlamaCpp() && !latent.ofKeys),
                  is(YarnIsLongRope),
                  is(YarnIsLongRope) && !writer.ofLlamaCpp() ? 4096 : 0,
                  "partial_rotary_factor",
                  isOfWhole             ? double(features) / double(whole)
                  : writer.ofLlamaCpp() ? 1
                                        : kind.part};
  // As the first code of MiniMax M2 has it; its class in the library names the part alone.
  if (is(PartsOfHeads) && config.has("rotary_dim"))
    rope.part = double(config.size("rotary_dim")) / double(features);
  Config &own = hasScaling ? scaling : isByType ? full : isOfClass ? ofClass : parameters;
  rotation = rope.read(own, "rope_theta", kind.base);
  if (isOfWhole && rotation.turned != features)
    own.refuse("partial_rotary_factor", "the part that `qk_rope_head_dim` is of a head");
  if (is(TurnsBack) && !rotation.scaling.empty())
    own.refuse("rope_type", "`default`, `yarn` or `longrope`, whose angles are a table: they turn "
                            "the other way round");
  if (is(TurnsBack))
    rotation.turnBack();
  if (latent.ofKeys)
    scaleLatent(own);
  readTempering(own);
  if (!writer.folder.ropeFactors.empty())
    rotation.scaling = rope.scalingOf(writer.folder.ropeFactors, rotation.base);
  windowed = rotation;
  bool hasWindowed = !isFull.empty() || isAllWindowed;
  if (!hasWindowed)
    parameters.valueAt("sliding_attention");
  if (hasWindowed && (isByType || is(LocalBase) || is(FullScaling)))
    windowed = rope.read(sliding, is(LocalBase) ? "rope_local_base_freq" : "rope_theta",
                         is(LocalBase) ? 10000 : kind.base);
  if (isAllWindowed)
    rotation = windowed;
}

void LlamaConfig::readPictures() {
  const Folder *around = writer.folder.around;
  auto hasEyes = [&] {
    return any_of(eyesParts(around->config.getString("model_type").value_or("")),
                  [&](StringRef part) { return around->hasWithin(part); });
  };
  if (isEncoder && around && hasEyes())
    config.refuse(config.flag("is_causal", true) ? "use_bidirectional_attention" : "is_causal",
                  "a decoder, where there are pictures in prompts");
  if (isEncoder || !hasHead)
    return;
  eyes = readEyes(writer, width, rotation.turned);
  if (eyes && !eyes->kindOfPair.empty() &&
      (!rotation.slowing.empty() || !rotation.scaling.empty() || turnsByLayer()))
    config.refuse(config.has("rope_scaling") ? "rope_scaling" : "rope_parameters",
                  "angles without a rule, by positions of pictures alone");
}

void LlamaConfig::read() {
  if (writer.task != "ForCausalLM" && !writer.task.empty())
    config.refuse("architectures", "a model `…ForCausalLM`, or one without a head");
  // Of a family that calls it otherwise, by the name in the folder.
  bool isWithin = writer.folder.has("model.embed_tokens.weight");
  for (auto [ours, theirs] : kind.names)
    isWithin |= ours == "model.embed_tokens" && writer.folder.has((theirs + ".weight").str());
  prefix = isWithin ? "model." : "";
  lastNorm = prefix + kind.lastNorm.str();
  hasHead = writer.task == "ForCausalLM" && !writer.folder.isSentence();
  readSizes();
  readDirections();
  if (writer.folder.isSentence()) {
    sentence = readSentence(writer, width);
    notePrompts(writer);
  }
  readExperts();
  readLayers();
  readMixers();
  readRotations();
  readPictures();
  chooseCapacity();
}

} // namespace attn::importer
