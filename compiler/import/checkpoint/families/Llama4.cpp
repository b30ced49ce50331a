// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The language model of Llama 4 (Meta 2025, "The Llama 4 herd"). Most layers see chunks of the text
// alone, and turn; the others see all, do not turn, and let queries grow with their positions
// (Nakanishi 2025, "Scalable-Softmax Is Superior for Attention"). A row is given to one expert.
#include "compiler/import/checkpoint/Families.h"
#include "compiler/import/checkpoint/Rope.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace attn::importer {

/// Which layers turn: those of `no_rope_layers` that are not 0, else all but each so many.
static std::vector<bool> turnedLayers(Config &config, int64_t layers) {
  std::vector<double> said = config.numbers("no_rope_layers");
  int64_t every = config.size("no_rope_layer_interval", 4);
  if (!said.empty() && said.size() != size_t(layers))
    config.refuse("no_rope_layers", "one for each of " + Twine(layers) + " layers");
  std::vector<bool> turned;
  for (int64_t n = 0; n < layers; ++n)
    turned.push_back(said.empty() ? (n + 1) % every != 0
                                  : size_t(n) < said.size() && said[size_t(n)] != 0);
  return turned;
}

/// Which layers see chunks alone; where nothing is said, those that turn.
static std::vector<bool> chunkedLayers(Config &config, const std::vector<bool> &turned) {
  std::vector<std::string> types = config.texts("layer_types");
  if (types.empty())
    return turned;
  if (types.size() != turned.size())
    config.refuse("layer_types", "one for each of " + Twine(turned.size()) + " layers");
  std::vector<bool> chunked;
  for (size_t n = 0; n < turned.size(); ++n) {
    std::string type = n < types.size() ? types[n] : "";
    if (type != "chunked_attention" && type != "full_attention")
      config.refuse("layer_types", "`chunked_attention` and `full_attention`");
    chunked.push_back(type == "chunked_attention");
  }
  return chunked;
}

/// Which layers have experts.
static std::vector<bool> routedLayers(Config &config, int64_t layers) {
  bool isSaid = config.has("moe_layers");
  std::vector<double> said = config.numbers("moe_layers");
  int64_t every = config.size("interleave_moe_layer_step", 1);
  std::vector<bool> routed;
  for (int64_t n = 0; n < layers; ++n)
    routed.push_back(isSaid ? is_contained(said, double(n)) : (n + 1) % every == 0);
  if (!is_contained(routed, true))
    config.refuse(isSaid ? "moe_layers" : "interleave_moe_layer_step",
                  "a layer with experts at least");
  return routed;
}

/// How queries and keys turn, and what is normed of them.
static void setTurns(FamilyWriter &writer, int64_t features, int64_t positions,
                     TemplateValues &values) {
  Config &config = writer.config;
  Config parameters = config.within("rope_parameters"), scaling = config.within("rope_scaling");
  bool isOlder = config.has("rope_scaling");
  RopeReader rope{config, features, positions};
  Rotation rotation = rope.read(isOlder ? scaling : parameters, "rope_theta", 500000);
  if (isOlder)
    config.valueAt("rope_parameters"); // which counts as read
  bool isNormed = config.flag("use_qk_norm", true);
  auto turned = [&](StringRef what) {
    std::string made = rotation.applied(what, "interleaved", "turns", "");
    return isNormed ? "self_attn.each(" + made + ")" : made;
  };
  values.setIf("headsNormed", isNormed);
  values.set("turnedQ", turned("q_plain"));
  values.set("turnedK", turned("k_plain"));
  values.set("table", rotation.tableLine("turns", "E"));
}

/// What differs between layers, as conditions of their number.
static void setLayers(Config &config, int64_t layers, TemplateValues &values) {
  std::vector<bool> turned = turnedLayers(config, layers), chunked = chunkedLayers(config, turned),
                    routed = routedLayers(config, layers);
  bool hasChunks = is_contained(chunked, true), isMixed = is_contained(routed, false);
  values.set("turned", layersWhere(turned));
  values.setIf("chunks", hasChunks);
  if (hasChunks)
    values.set("chunk", config.size("attention_chunk_size", 8192));
  if (hasChunks && is_contained(chunked, false))
    values.set("seen", "if " + layersWhere(chunked) + " then chunked else causal");
  else
    values.setIf("seen", false);
  values.set("mask", !hasChunks ? "causal" : is_contained(chunked, false) ? "seen" : "chunked");
  values.setIf("mixed", isMixed);
  if (isMixed)
    values.set("denseHidden", config.size("intermediate_size_mlp", 16384));
  values.set("routed", layersWhere(routed));
}

static void writeLlama4(FamilyWriter &writer) {
  Config &config = writer.config;
  TemplateValues values;
  if (!writer.task.empty() && writer.task != "ForCausalLM")
    config.refuse("architectures", "a model `…ForCausalLM`, or one without a head");
  int64_t heads = config.size("num_attention_heads"),
          groups = config.size("num_key_value_heads", 8), features = config.size("head_dim", 128),
          layers = config.size("num_hidden_layers"),
          positions = config.size("max_position_embeddings"),
          capacity = std::min<int64_t>(positions, 4096);
  if (heads % groups)
    config.refuse("num_key_value_heads", "a divisor of `num_attention_heads`");
  if (config.size("num_experts_per_tok", 1) != 1)
    config.refuse("num_experts_per_tok", "1: of several, what each is given cannot be weighted");
  if (capacity < positions)
    config.note("the cache holds " + Twine(capacity) + " positions, of " + Twine(positions) +
                " that the model can be given: `cache kv capacity` says how many");
  bool hasHead = writer.task == "ForCausalLM", isTied = config.flag("tie_word_embeddings", false);
  bool isTempered = config.flag("attn_temperature_tuning", true);
  values.set("model", writer.model);
  values.set("prefix", writer.folder.has("model.embed_tokens.weight") ? "model." : "");
  values.set("width", config.size("hidden_size"));
  values.set("heads", heads);
  values.set("groups", groups);
  values.set("features", features);
  values.set("layers", layers);
  values.set("hidden", config.size("intermediate_size"));
  values.set("tokens", config.size("vocab_size"));
  values.set("experts", config.size("num_local_experts"));
  values.set("capacity", capacity);
  values.set("eps", numberText(config.number("rms_norm_eps", 1e-5)));
  values.setIf("head", hasHead);
  values.setIf("headless", !hasHead && writer.folder.has("lm_head.weight"));
  values.setIf("tied", isTied);
  values.set("bias", config.flag("attention_bias", false) ? " bias" : "");
  values.setIf("tempered", isTempered);
  values.set("attnScale", isTempered ? numberText(config.number("attn_scale", 0.1)) : "");
  values.set("floorScale", isTempered ? numberText(config.number("floor_scale", 8192)) : "");
  values.set("ofDense", activation(config, "hidden_act", "silu", "gate_proj(m)"));
  values.set("ofExpert", activation(config, "hidden_act", "silu", "gate(x)"));
  values.set("ofShared", activation(config, "hidden_act", "silu", "shared_expert.gate_proj(m)"));
  values.set("given", hasHead ? "V" : "D");
  setTurns(writer, features, positions, values);
  setLayers(config, layers, values);
  values.set("entries", hasHead ? generationEntries(writer, capacity) : "entry encode = forward");
  writeTemplate(writer, "llama4", values);
}

const Family familyLlama4 = {"llama4_text", writeLlama4};

} // namespace attn::importer
