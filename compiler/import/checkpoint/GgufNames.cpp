// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Names of a file's tensors -> those of Hugging Face's folder of the same model.
#include "compiler/import/checkpoint/GgufNames.h"
#include "compiler/import/checkpoint/GptKinds.h"
#include "compiler/import/checkpoint/LlamaKinds.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace attn::importer {

static constexpr GgufKind knownKinds[] = {
    {"llama", "llama", "LlamaForCausalLM", true},
    {"qwen2", "qwen2", "Qwen2ForCausalLM"},
    {"qwen3", "qwen3", "Qwen3ForCausalLM"},
    {"gemma", "gemma", "GemmaForCausalLM", false, true},
    {"gemma2", "gemma2", "Gemma2ForCausalLM", false, true},
    {"gemma3", "gemma3_text", "Gemma3ForCausalLM", false, true},
    {"phi3", "phi3", "Phi3ForCausalLM"},
    {"llama", "mixtral", "MixtralForCausalLM", true, false, false, true},
    {"qwen3moe", "qwen3_moe", "Qwen3MoeForCausalLM", false, false, false, true},
    {"gpt2", "gpt2", "GPT2LMHeadModel"},
    {"starcoder", "gpt_bigcode", "GPTBigCodeForCausalLM"},
    {"gptneox", "gpt_neox", "GPTNeoXForCausalLM"},
    {"bloom", "bloom", "BloomForCausalLM"},
    {"falcon", "falcon", "FalconForCausalLM"},
    {"mpt", "mpt", "MptForCausalLM"},
    {"bert", "bert", "BertModel"},
    {"nomic-bert", "nomic_bert", "NomicBertModel"},
    {"modern-bert", "modernbert", "ModernBertModel"},
    {"granitemoe", "granitemoe", "GraniteMoeForCausalLM", true, false, false, true},
    {"olmoe", "olmoe", "OlmoeForCausalLM", false, false, false, true},
    {"qwen2moe", "qwen2_moe", "Qwen2MoeForCausalLM", false, false, false, true},
    {"hunyuan-moe", "hunyuan_v1_moe", "HunYuanMoEV1ForCausalLM", false, false, false, true},
    {"minimax-m2", "minimax_m2", "MiniMaxM2ForCausalLM", false, false, false, true},
    {"gpt-oss", "gpt_oss", "GptOssForCausalLM", false, false, true, true},
    {"deepseek2", "deepseek_v3", "DeepseekV3ForCausalLM", false, false, false, true}, // V2, too
    {"minicpm3", "minicpm3", "MiniCPM3ForCausalLM"},
    {"glm4moe", "glm4_moe", "Glm4MoeForCausalLM", false, false, true, true},
    {"dots1", "dots1", "Dots1ForCausalLM", false, false, false, true},
    {"ernie4_5-moe", "ernie4_5_moe", "Ernie4_5_MoeForCausalLM", false, false, false, true},
    {"smollm3", "smollm3", "SmolLM3ForCausalLM", true},
    {"olmo", "olmo", "OlmoForCausalLM", true},
    {"olmo2", "olmo2", "Olmo2ForCausalLM"}, // OLMo 3, where there is a window
    {"granite", "granite", "GraniteForCausalLM", true},
    {"minicpm", "granite", "MiniCPMForCausalLM", true},
    {"seed_oss", "seed_oss", "SeedOssForCausalLM", false, false, true},
    {"exaone", "llama", "ExaoneForCausalLM"},
    {"exaone4", "exaone4", "Exaone4ForCausalLM"},
    {"ernie4_5", "ernie4_5", "Ernie4_5ForCausalLM"},
    {"hunyuan-dense", "hunyuan_v1_dense", "HunYuanDenseV1ForCausalLM"},
    {"glm4", "glm4", "Glm4ForCausalLM"},
    {"mistral3", "ministral3", "Ministral3ForCausalLM", true},
    {"internlm2", "llama", "InternLM2ForCausalLM", true},
    {"xverse", "llama", "XverseForCausalLM", true},
    {"arcee", "arcee", "ArceeForCausalLM", true},
    {"nemotron", "nemotron", "NemotronForCausalLM", false, true},
    {"starcoder2", "starcoder2", "Starcoder2ForCausalLM"},
    {"stablelm", "stablelm", "StableLmForCausalLM"},
    {"orion", "stablelm", "OrionForCausalLM"},
    {"baichuan", "llama", "BaichuanForCausalLM", true},
    {"phi2", "phi", "PhiForCausalLM"},
    {"command-r", "cohere", "CohereForCausalLM"},
    {"cohere2", "cohere2", "Cohere2ForCausalLM"},
    {"qwen2vl", "qwen2", "Qwen2ForCausalLM"}, // the language models alone
    {"qwen3vl", "qwen3", "Qwen3ForCausalLM"},
    {"qwen3vlmoe", "qwen3_moe", "Qwen3MoeForCausalLM", false, false, false, true},
    {"jais2", "jais2", "Jais2ForCausalLM"},
    {"bitnet", "bitnet", "BitNetForCausalLM"},
    {"maincoder", "hunyuan_v1_dense", "MaincoderForCausalLM"},
    {"pangu-embedded", "llama", "PanguEmbeddedForCausalLM"},
    {"exaone-moe", "exaone_moe", "ExaoneMoeForCausalLM", false, false, false, true},
    {"phimoe", "phimoe", "PhimoeForCausalLM", false, false, false, true},
    {"eurobert", "llama", "EuroBertModel"},
    {"llama-embed", "llama", "LlamaModel", true},
    {"lfm2", "lfm2", "Lfm2ForCausalLM", false, false, false, false, "token_embd_norm"},
    {"lfm2moe", "lfm2_moe", "Lfm2MoeForCausalLM", false, false, false, true, "token_embd_norm"},
    {"granitehybrid", "granitemoehybrid", "GraniteMoeHybridForCausalLM", true},
    {"granitehybrid", "granitemoehybrid", "GraniteMoeHybridForCausalLM", true, false, false, true},
    {"falcon-h1", "falcon_h1", "FalconH1ForCausalLM"},
    {"nemotron_h", "nemotron_h", "NemotronHForCausalLM"},
    {"nemotron_h_moe", "nemotron_h", "NemotronHForCausalLM", false, false, false, true},
    {"jamba", "jamba", "JambaForCausalLM"},
    {"jamba", "jamba", "JambaForCausalLM", false, false, false, true},
    {"mamba", "mamba", "MambaForCausalLM"}, // Falcon Mamba, too
    {"mamba2", "mamba2", "Mamba2ForCausalLM"},
    {"qwen3next", "qwen3_next", "Qwen3NextForCausalLM", false, true, true, true},
    {"qwen35", "qwen3_5_text", "Qwen3_5ForCausalLM", false, true, true},
    {"qwen35moe", "qwen3_5_moe_text", "Qwen3_5MoeForCausalLM", false, true, true, true},
};

ArrayRef<GgufKind> ggufKinds() { return knownKinds; }

static Renames llamaNames(const GgufKind &kind) {
  const LlamaKind &form = *llamaKind(kind.type);
  Renames names = {
      {"model.embed_tokens", "token_embd"},
      {"model.layers", "blk"},
      {"model." + form.lastNorm.str(), kind.lastNorm.str()},
      {"lm_head", "output"},
      {"self_attn.qkv_proj", "attn_qkv"},
      {"self_attn.q_proj", "attn_q"},
      {"self_attn.k_proj", "attn_k"},
      {"self_attn.v_proj", "attn_v"},
      {"self_attn." + form.out.str(), "attn_output"},
      {"self_attn." + form.queryNorm.str(), "attn_q_norm"},
      {"self_attn." + form.keyNorm.str(), "attn_k_norm"},
      {"self_attn.sinks", "attn_sinks"},
      {"self_attn.attn_sub_norm", "attn_sub_norm"},
      {"mlp.ffn_sub_norm", "ffn_sub_norm"},
      {"self_attn.q_a_proj", "attn_q_a"},
      {"self_attn.q_a_layernorm", "attn_q_a_norm"},
      {"self_attn.q_b_proj", "attn_q_b"},
      {"self_attn.kv_a_proj_with_mqa", "attn_kv_a_mqa"},
      {"self_attn.kv_a_layernorm", "attn_kv_a_norm"},
      {"self_attn.kv_b_proj", "attn_kv_b"},
      {"self_attn.k_b_proj", "attn_k_b"},
      {"self_attn.v_b_proj", "attn_v_b"},
      {"self_attn", "attn"},
      {"mlp.router", "ffn_gate_inp"},
      {"block_sparse_moe.gate", "ffn_gate_inp"},
      {"mlp.gate_proj", "ffn_gate"},
      {form.mlp == LlamaMlp::Packed ? "mlp.gate_up_proj" : "mlp." + form.up.str(), "ffn_up"},
      {"mlp." + form.down.str(), "ffn_down"},
      {"mlp.up_proj", "ffn_up"}, // of one that is packed in a folder
      {"mlp", "ffn"}};
  const LlamaPlaces &places = form.places;
  for (auto [place, theirs] :
       {std::pair(places.beforeAttention, "attn_norm"),
        {places.behindAttention, "post_attention_norm"},
        {places.beforeMlp, kind.isFfnNormPost ? "post_attention_norm" : "ffn_norm"},
        {places.behindMlp, "post_ffw_norm"}})
    if (!place.empty())
      names.insert(names.begin(), {place.str(), theirs});
  if (!kind.hasExperts)
    return names;
  // Without experts, a map that Phi-3 has a part of is called as what scores them.
  const LlamaExperts &experts = *form.experts;
  std::string path = experts.name.str() + ".";
  Renames own = {{path + "experts", "ffn_exps"}}; // as the runtime calls those that are packed
  if (!experts.correction.empty())                // whose name may begin with the router's
    own.push_back({path + experts.correction.str(), "exp_probs_b.bias"});
  own.push_back({path + experts.router.str(), "ffn_gate_inp"});
  if (experts.isGranite) {
    for (auto [name, theirs] : {std::pair("gate", "gate"), {"up", "up"}, {"output_linear", "down"}})
      own.push_back({"shared_mlp." + std::string(name), "ffn_" + std::string(theirs) + "_shexp"});
  } else if (!experts.shared.empty()) {
    std::string shared = path + experts.shared.str();
    for (StringRef map : {"gate", "up", "down"})
      own.push_back({shared + "." + map.str() + "_proj", "ffn_" + map.str() + "_shexp"});
    if (experts.isSharedWeighted)
      own.push_back({shared + "_gate", "ffn_gate_inp_shexp"});
  }
  names.insert(names.begin(), own.begin(), own.end());
  return names;
}

static Renames gptNames(const GptKind &form) {
  const GptNames &own = form.names;
  Renames names = {{own.head.str(), "output"},
                   {own.first.str(), "attn_norm"},
                   {own.maps.str(), "attn_qkv"},
                   {own.out.str(), "attn_output"},
                   {own.up.str(), "ffn_up"},
                   {own.down.str(), "ffn_down"},
                   // Falcon's, where a layer has two norms beside each other.
                   {"ln_attn", "attn_norm_2"},
                   {"ln_mlp", "attn_norm"}};
  std::string prefix = own.prefix.str(), tokens = prefix + own.tokens.str();
  for (auto [name, theirs] : {std::pair<StringRef, StringRef>(own.tokens, "token_embd"),
                              {own.positions, "position_embd"},
                              {own.layers, "blk"},
                              {own.last, "output_norm"}})
    if (!name.empty())
      names.push_back({prefix + name.str(), theirs.str()});
  names.push_back({tokens + "_layernorm", "token_embd_norm"});
  if (!own.second.empty())
    names.push_back({own.second.str(), "ffn_norm"});
  return names;
}

static const Renames &bertNames() {
  static const Renames names = {{"embeddings.word_embeddings", "token_embd"},
                                {"embeddings.position_embeddings", "position_embd"},
                                {"embeddings.token_type_embeddings", "token_types"},
                                {"embeddings.LayerNorm", "token_embd_norm"},
                                {"encoder.layer", "blk"},
                                {"attention.self.query", "attn_q"},
                                {"attention.self.key", "attn_k"},
                                {"attention.self.value", "attn_v"},
                                {"attention.output.dense", "attn_output"},
                                {"attention.output.LayerNorm", "attn_output_norm"},
                                {"intermediate.dense", "ffn_up"},
                                {"output.dense", "ffn_down"},
                                {"output.LayerNorm", "layer_output_norm"},
                                {"classifier.out_proj", "cls.output"},
                                {"classifier.dense", "cls"}};
  return names;
}

static const Renames &nomicNames() {
  static const Renames names = {{"embeddings.word_embeddings", "token_embd"},
                                {"embeddings.token_type_embeddings", "token_types"},
                                {"emb_ln", "token_embd_norm"},
                                {"encoder.layers", "blk"},
                                {"attn.Wqkv", "attn_qkv"},
                                {"attn.out_proj", "attn_output"},
                                {"norm1", "attn_output_norm"},
                                {"norm2", "layer_output_norm"},
                                {"mlp.fc11", "ffn_up"},
                                {"mlp.fc12", "ffn_gate"},
                                {"mlp.fc2", "ffn_down"}};
  return names;
}

static const Renames &modernNames() {
  static const Renames names = {{"embeddings.tok_embeddings", "token_embd"},
                                {"embeddings.norm", "token_embd_norm"},
                                {"layers", "blk"},
                                {"final_norm", "output_norm"},
                                {"attn.Wqkv", "attn_qkv"},
                                {"attn.Wo", "attn_output"},
                                {"mlp_norm", "ffn_norm"},
                                {"mlp.Wi", "ffn_up"},
                                {"mlp.Wo", "ffn_down"}};
  return names;
}

/// Decoders without attention, whose mixers have names of their own.
static const Renames &recurrentNames() {
  static const Renames names = {{"backbone.embeddings", "token_embd"},
                                {"backbone.layers", "blk"},
                                {"backbone.norm_f", "output_norm"},
                                {"lm_head", "output"},
                                {"norm", "attn_norm"}};
  return names;
}

Renames ggufNames(const GgufKind &kind) {
  if (const GptKind *form = gptKind(kind.type))
    return gptNames(*form);
  if (kind.type == "nomic_bert")
    return nomicNames();
  if (kind.type == "modernbert")
    return modernNames();
  if (kind.type.starts_with("mamba"))
    return recurrentNames();
  return kind.type == "bert" ? bertNames() : llamaNames(kind);
}

Shapes shapesThere(const Shapes &shapes, const Renames &names) {
  auto blocks = find_if(
      names, [](const auto &name) { return name.second == "blk" || name.second == "layers"; });
  Shapes there;
  for (auto &[name, shape] : shapes) {
    std::string theirs = name;
    for (auto &[hugging, ours] : names) {
      StringRef rest = name;
      std::string layer;
      if (rest.consume_front("blk.") || rest.consume_front("layers.")) {
        size_t dot = rest.find('.');
        layer = blocks->first + "." + rest.take_front(dot == StringRef::npos ? 0 : dot + 1).str();
        rest = rest.drop_front(dot == StringRef::npos ? 0 : dot + 1);
      }
      if (rest.starts_with(ours) && (rest.size() == ours.size() || rest[ours.size()] == '.')) {
        theirs = layer + hugging + rest.drop_front(ours.size()).str();
        break;
      }
    }
    there[theirs] = shape;
  }
  return there;
}

} // namespace attn::importer
