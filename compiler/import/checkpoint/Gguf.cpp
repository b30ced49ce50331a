// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files of llama.cpp (GGUF) and of llama2.c as folders of Hugging Face: what their values are
// called in a config.json. The names of GGUF are those of llama.cpp's gguf-py/gguf/constants.py.
#include "compiler/import/checkpoint/GgufConfig.h"
#include "llvm/ADT/STLExtras.h"
#include <cmath>

using namespace llvm;

namespace attn::importer {

Error GgufConfig::take(StringRef key, StringRef theirs) {
  const json::Value *value = find(key);
  const json::Array *each = value ? value->getAsArray() : nullptr;
  if (each && (each->empty() ||
               !all_of(*each, [&](const json::Value &one) { return one == each->front(); })))
    return importError("`" + prefix + key + "` differs from layer to layer, which is not read");
  if (value)
    folder.config[theirs] = each ? each->front() : *value;
  return Error::success();
}

Error GgufConfig::takeAll(ArrayRef<std::pair<StringRef, StringRef>> keys) {
  for (auto [key, theirs] : keys)
    if (Error error = take(key, theirs))
      return error;
  return Error::success();
}

std::optional<int64_t> GgufConfig::rowsOf(StringRef tensor) const {
  auto found = folder.shapes.find(tensor.str());
  if (found == folder.shapes.end() || found->second.empty() || found->second.size() > 2)
    return std::nullopt;
  return found->second.size() == 2 ? found->second[0] : 1;
}

Error GgufConfig::readRope() {
  folder.config["rope_theta"] = 10000; // llama.cpp's default
  if (Error error = take("rope.freq_base", "rope_theta"))
    return error;
  if (kind.type == "gemma3_text") { // which older files do not say
    folder.config["rope_local_base_freq"] = 10000;
    if (Error error = take("rope.freq_base_swa", "rope_local_base_freq"))
      return error;
  }
  if (llamaKind(kind.type)->latent.ofKeys)
    return readScaling();
  std::optional<int64_t> turned = std::nullopt, features = std::nullopt;
  if (const json::Value *value = find("rope.dimension_count"))
    turned = value->getAsInteger();
  if (const json::Value *value = find("attention.key_length"))
    features = value->getAsInteger();
  else if (auto heads = folder.config.getInteger("num_attention_heads"),
           width = folder.config.getInteger("hidden_size");
           heads && width && *heads > 0)
    features = *width / *heads;
  if (turned && features && *features > 0 && *turned != *features)
    folder.config["partial_rotary_factor"] = double(*turned) / double(*features);
  return readScaling();
}

json::Object GgufConfig::longRope() const {
  json::Object scaling{{"rope_type", "longrope"},
                       {"short_factor", json::Array(factors.shortFactors)},
                       {"long_factor", json::Array(factors.longFactors)}};
  for (auto [key, theirs] : {std::pair<StringRef, StringRef>("attn_factor", "attention_factor"),
                             {"original_context_length", "original_max_position_embeddings"}})
    if (const json::Value *value = find(("rope.scaling." + key).str()))
      scaling[theirs] = *value;
  return scaling;
}

Error GgufConfig::readScaling() {
  const json::Value *type = find("rope.scaling.type");
  std::string scaling = type && type->getAsString() ? type->getAsString()->str() : "none";
  // Files made before llama.cpp had the name tell LongRoPE by its tensors.
  bool isLong = !factors.longFactors.empty() && !factors.shortFactors.empty();
  if (isLong && (scaling == "none" || scaling == "longrope")) {
    folder.config["rope_scaling"] = longRope();
  } else if (scaling == "longrope") {
    return importError("`" + prefix +
                       "rope.scaling.type` is `longrope`, expected the tensors "
                       "`rope_factors_long.weight` and `rope_factors_short.weight`");
  } else if (isLong) {
    return importError("there are tensors of LongRoPE, `rope_factors_long.weight`, but `" + prefix +
                       "rope.scaling.type` is `" + scaling + "`, expected `longrope`");
  } else if (scaling == "linear") {
    const json::Value *factor = find("rope.scaling.factor");
    folder.config["rope_scaling"] =
        json::Object{{"rope_type", "linear"}, {"factor", factor ? *factor : json::Value(1)}};
  } else if (scaling == "yarn") {
    json::Object yarn{{"rope_type", "yarn"}};
    for (auto [key, theirs] : {std::pair<StringRef, StringRef>("factor", "factor"),
                               {"original_context_length", "original_max_position_embeddings"},
                               {"yarn_beta_fast", "beta_fast"},
                               {"yarn_beta_slow", "beta_slow"}})
      if (const json::Value *value = find(("rope.scaling." + key).str()))
        yarn[theirs] = *value;
    if (llamaKind(kind.type)->latent.ofKeys) {
      // llama.cpp leaves cosines and sines as they are, and scales scores alone.
      const json::Value *weight = find("rope.scaling.yarn_log_multiplier");
      yarn["attention_factor"] = 1;
      if (auto number = weight ? weight->getAsNumber() : std::nullopt)
        yarn["mscale_all_dim"] = 10 * *number;
    }
    if (kind.type == "gpt_oss") // which files do not say
      yarn["truncate"] = false;
    if (kind.type == "ministral3") { // whose cosines and sines llama.cpp leaves as they are
      yarn["attention_factor"] = 1;
      if (const json::Value *beta = find("attention.temperature_scale"))
        yarn["llama_4_scaling_beta"] = *beta;
    }
    folder.config["rope_scaling"] = std::move(yarn);
  } else if (scaling != "none") {
    return importError(
        "`" + prefix + "rope.scaling.type` is `" + scaling +
            "`, expected `none`, `linear`, `yarn` or `longrope`",
        "write the angles as a `table` and give them to `rotary(x, half, angles = …)`");
  }
  return Error::success();
}

Error GgufConfig::readExperts() {
  const LlamaExperts &experts = *llamaKind(kind.type)->experts;
  if (!experts.denseKey.empty())
    if (Error error = readMixture(experts))
      return error;
  if (kind.type == "nemotron_h")
    if (Error error = takeAll({{"expert_weights_norm", "norm_topk_prob"},
                               {"expert_weights_scale", experts.scaleKey},
                               {"expert_group_count", "n_group"}}))
      return error;
  if (kind.type == "lfm2_moe")
    folder.config["norm_topk_prob"] = true;
  // As llama.cpp computes them, whatever is said.
  if (!experts.sharesSum && experts.denseKey.empty() && kind.type != "nemotron_h")
    folder.config["norm_topk_prob"] = kind.type == "qwen3_moe" || kind.type == "qwen3_next";
  if (kind.type == "gpt_oss")
    folder.config["swiglu_limit"] = 7;
  const json::Value *each = find("expert_feed_forward_length"),
                    *shared = find("expert_shared_feed_forward_length");
  if (experts.countsShared)
    shared = nullptr; // which readMixture has read
  else if (!experts.shared.empty() && experts.sharedKey != experts.hiddenKey && shared)
    folder.config[experts.sharedKey] = *shared;
  else if (!experts.shared.empty() && each && shared && *each != *shared)
    return importError("`" + prefix + "expert_shared_feed_forward_length` differs from `" + prefix +
                       "expert_feed_forward_length`, which is not read");
  return takeAll({{"expert_count", experts.countKey},
                  {"expert_used_count", experts.chosenKey},
                  {"expert_feed_forward_length", experts.hiddenKey}});
}

/// Gemma's scores are scaled as llama.cpp does: its largest models by the features that a head
/// would have if all together were as wide as the model.
void GgufConfig::readScores() {
  if (kind.type != "gemma2" && kind.type != "gemma3_text")
    return;
  int64_t layers = folder.config.getInteger("num_hidden_layers").value_or(0),
          heads = folder.config.getInteger("num_attention_heads").value_or(1),
          width = folder.config.getInteger("hidden_size").value_or(0);
  bool isLargest = layers == (kind.architecture == "gemma2" ? 46 : 62);
  if (isLargest && heads > 0)
    folder.config["query_pre_attn_scalar"] = width / heads;
  else if (auto features = folder.config.getInteger("head_dim"))
    folder.config["query_pre_attn_scalar"] = *features;
}

Error GgufConfig::readTokens() {
  const auto &embedding =
      *find_if(folder.renames, [](const auto &name) { return name.second == "token_embd"; });
  std::optional<int64_t> rows = rowsOf(embedding.first + ".weight");
  if (!rows)
    return importError("there is no matrix `token_embd.weight` in it");
  folder.config["vocab_size"] = *rows;
  const GptKind *form = gptKind(kind.type);
  folder.config["tie_word_embeddings"] =
      !folder.has(((form ? form->names.head : "lm_head") + ".weight").str());
  return Error::success();
}

void GgufConfig::readGeneration() {
  json::Object generation;
  for (auto [key, theirs] :
       {std::pair<StringRef, StringRef>("tokenizer.ggml.eos_token_id", "eos_token_id"),
        {"tokenizer.ggml.eot_token_id", "eot"}})
    if (const json::Value *token = findWhole(key))
      generation[theirs] = *token;
  if (const json::Value *turn = generation.get("eot")) { // a turn of a chat ends with another
    const json::Value *end = generation.get("eos_token_id");
    if (end && *end != *turn)
      generation["eos_token_id"] = json::Array{*end, *turn};
    generation.erase("eot");
  }
  folder.generation = std::move(generation);
}

Error GgufConfig::readRelative() {
  const LlamaKind &form = *llamaKind(kind.type);
  bool isRms = form.norm == LlamaNorm::Rms || form.norm == LlamaNorm::OnePlusRms ||
               form.epsKey == "rms_norm_eps"; // Phi-3.5 MoE's, whatever its norms
  StringRef epsKey = form.epsKey.empty() ? "layer_norm_eps" : form.epsKey;
  if (Error error =
          take(isRms ? "attention.layer_norm_rms_epsilon" : "attention.layer_norm_epsilon", epsKey))
    return error;
  if (form.traits & SubNorms) { // of BitNet, whose first files do not say
    folder.config[form.actKey] = "silu";
    if (Error error = take("hidden_activation", form.actKey))
      return error;
  }
  if (!form.headBias.key.empty() && folder.has("lm_head.bias"))
    folder.config[form.headBias.key] = true;
  if (form.traits & Clipped)
    if (Error error = take("attention.clamp_kqv", "clip_qkv"))
      return error;
  if (form.traits & LogitScale)
    if (Error error = take("logit_scale", "logit_scale"))
      return error;
  if (!form.headNormKey.empty() &&
      folder.has(("model.layers.0.self_attn." + form.queryNorm + ".weight").str()))
    folder.config[form.headNormKey] = true;
  if (form.traits & ParallelIfAsked) // as llama.cpp decides it, whatever is said
    folder.config["use_parallel_residual"] =
        !folder.has("model.layers.0.post_attention_layernorm.weight");
  if (kind.type == "olmo2" && folder.config.get("sliding_window"))
    folder.config["model_type"] = "olmo3";
  readWindows(form);
  return form.traits & Multipliers ? readMultipliers() : Error::success();
}

void GgufConfig::readWindows(const LlamaKind &form) {
  bool isTyped = form.traits & OnlyNearTurn || kind.type == "olmo2";
  const json::Value *pattern = isTyped ? find("attention.sliding_window_pattern") : nullptr;
  if (!pattern)
    return;
  const json::Array *each = pattern->getAsArray();
  if (!each) {
    folder.config["sliding_window_pattern"] = *pattern;
    return;
  }
  json::Array types;
  for (const json::Value &one : ArrayRef(each->data(), each->size()).take_front(size_t(layers())))
    types.push_back(one.getAsBoolean().value_or(one.getAsInteger().value_or(0) != 0)
                        ? "sliding_attention"
                        : "full_attention");
  folder.config["layer_types"] = std::move(types);
}

Error GgufConfig::readMultipliers() {
  if (Error error = takeAll({{"embedding_scale", "embedding_multiplier"},
                             {"residual_scale", "residual_multiplier"},
                             {"attention.scale", "attention_multiplier"},
                             {"logit_scale", "logits_scaling"}}))
    return error;
  for (StringRef key : {"embedding_multiplier", "residual_multiplier", "logits_scaling"})
    if (!folder.config.get(key))
      return importError("`" + prefix + (key == "logits_scaling" ? "logit" : key.split('_').first) +
                         "_scale` is missing, as in files of the first converters");
  auto heads = folder.config.getInteger("num_attention_heads"),
       width = folder.config.getInteger("hidden_size");
  auto features = folder.config.getInteger("head_dim");
  if (!folder.config.get("attention_multiplier") && heads && *heads > 0 && width)
    folder.config["attention_multiplier"] =
        1 / std::sqrt(double(features.value_or(*width / *heads)));
  return Error::success();
}

Error GgufConfig::readLlama() {
  LlamaMixer mixer = llamaKind(kind.type)->mixer;
  if (mixer != LlamaMixer::None)
    if (Error error = readMixer(mixer))
      return error;
  if (mixer == LlamaMixer::None)
    if (Error error = takeAll({{"feed_forward_length", "intermediate_size"},
                               {"attention.head_count_kv", "num_key_value_heads"}}))
      return error;
  if (Error error = takeAll({{"embedding_length", "hidden_size"},
                             {"block_count", "num_hidden_layers"},
                             {"attention.head_count", "num_attention_heads"},
                             {"attention.key_length", "head_dim"},
                             {"attention.sliding_window", "sliding_window"},
                             {"context_length", "max_position_embeddings"},
                             {"attn_logit_softcapping", "attn_logit_softcapping"},
                             {"final_logit_softcapping", "final_logit_softcapping"}}))
    return error;
  if (folder.config.get("num_hidden_layers"))
    folder.config["num_hidden_layers"] = layers();
  if (folder.config.getInteger("sliding_window") == 0) // none
    folder.config.erase("sliding_window");
  if (Error error = readRelative())
    return error;
  const json::Value *features = find("attention.key_length"),
                    *ofValues = find("attention.value_length");
  bool isLatent = llamaKind(kind.type)->latent.ofKeys;
  if (isLatent)
    if (Error error = readLatent())
      return error;
  if (!isLatent && features && ofValues && *features != *ofValues)
    return importError("`" + prefix + "attention.value_length` differs from `" + prefix +
                       "attention.key_length`, which is not read");
  if (kind.architecture == "baichuan" && folder.config.getInteger("num_hidden_layers") == 40)
    return importError("`baichuan.block_count` is 40, which llama.cpp takes for the model of 13B, "
                       "whose scores have slopes instead of angles: it is not read");
  if (kind.hasExperts)
    if (Error error = readExperts())
      return error;
  if (folder.has("model.layers.0.self_attn.q_proj.bias"))
    folder.config["attention_bias"] = true;
  if (Error error = readRope())
    return error;
  readScores();
  if (Error error = readCausal())
    return error;
  return readPooling();
}

Error GgufConfig::readCausal() {
  const json::Value *causal = find("attention.causal");
  if (!causal || causal->getAsBoolean().value_or(true))
    return Error::success();
  // Of one side alone llama.cpp hides what a window does not reach.
  if (folder.config.get("sliding_window"))
    return importError("`" + prefix + "attention.causal` is false, and `" + prefix +
                       "attention.sliding_window` is there, which are not read together");
  folder.config["is_causal"] = false;
  return Error::success();
}

Error GgufConfig::read() {
  folder.config["model_type"] = kind.type;
  folder.config["architectures"] = json::Array{kind.task};
  if (Error error = readTokens())
    return error;
  readGeneration();
  if (kind.type == "bert")
    return readBert();
  if (kind.type == "nomic_bert")
    return readNomic();
  if (kind.type == "modernbert")
    return readModernBert();
  if (kind.type.starts_with("mamba"))
    return readRecurrent();
  const GptKind *form = gptKind(kind.type);
  return form ? readGpt(*form) : readLlama();
}

Expected<Folder> readGgufModel(StringRef path, const json::Object &values, const Shapes &shapes,
                               const GgufFactors &factors) {
  std::string list;
  auto architecture = values.getString("general.architecture");
  const json::Value *count =
      architecture ? values.get((*architecture + ".expert_count").str()) : nullptr;
  bool hasExperts = count && count->getAsInteger().value_or(0) > 0, isKnown = false;
  const GgufKind *kind = find_if(ggufKinds(), [&](const GgufKind &one) {
    list += (list.empty() ? "" : ", ") + one.architecture.str() +
            (one.hasExperts ? " with experts" : "");
    bool isSame = architecture && one.architecture == *architecture;
    isKnown |= isSame;
    return isSame && one.hasExperts == hasExperts;
  });
  if (!architecture)
    return importError("there is no `general.architecture` in it");
  if (kind == ggufKinds().end())
    return importError("no family reads the `general.architecture` `" + *architecture +
                       (!isKnown     ? "`"
                        : hasExperts ? "` with experts"
                                     : "` without experts") +
                       "; those that are read are " + list);
  Folder folder;
  folder.path = path.str();
  folder.renames = ggufNames(*kind);
  folder.shapes = shapesThere(shapes, folder.renames);
  folder.turnsNeighbours = kind->turnsNeighbours;
  folder.addedOne = kind->addedOne;
  folder.ropeFactors = factors.all;
  folder.values = values;
  folder.askedValues = {"general.architecture", (*architecture + ".expert_count").str()};
  folder.architecture = architecture->str();
  if (Error error = GgufConfig(values, factors, folder, *kind).read())
    return std::move(error);
  return folder;
}

Folder readLlama2Model(StringRef path, json::Object config, const Shapes &shapes) {
  Folder folder;
  folder.path = path.str();
  folder.renames = {{"model.embed_tokens", "tok_embeddings"},
                    {"model.layers", "layers"},
                    {"model.norm", "norm"},
                    {"lm_head", "output"},
                    {"input_layernorm", "attention_norm"},
                    {"post_attention_layernorm", "ffn_norm"},
                    {"self_attn.q_proj", "attention.wq"},
                    {"self_attn.k_proj", "attention.wk"},
                    {"self_attn.v_proj", "attention.wv"},
                    {"self_attn.o_proj", "attention.wo"},
                    {"mlp.gate_proj", "feed_forward.w1"},
                    {"mlp.down_proj", "feed_forward.w2"},
                    {"mlp.up_proj", "feed_forward.w3"}};
  folder.shapes = shapesThere(shapes, folder.renames);
  folder.turnsNeighbours = true;
  folder.config = std::move(config);
  folder.config["model_type"] = "llama";
  folder.config["architectures"] = json::Array{"LlamaForCausalLM"};
  folder.config["rms_norm_eps"] = 1e-5;
  folder.config["rope_theta"] = 10000;
  return folder;
}

} // namespace attn::importer
