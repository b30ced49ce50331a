// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Files of llama.cpp (GGUF) and of llama2.c as folders of Hugging Face: what their values are
// called in a config.json, and what their tensors are called there. The names of GGUF are those of
// llama.cpp's gguf-py/gguf/constants.py and tensor_mapping.py.
#include "compiler/import/folder/Folder.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace attn::importer {

using Shapes = std::map<std::string, SmallVector<int64_t>>;

namespace {

/// What of an architecture of GGUF differs from Llama.
struct GgufKind {
  StringRef architecture, type, task;
  bool turnsNeighbours = false; ///< llama.cpp's converter has put pairs side by side
  bool addedOne = false;        ///< it has added 1 to the weights of norms
  bool hasFourNorms = false;
  bool hasExperts = false; ///< those of a layer are packed into one tensor for each map
};

constexpr GgufKind ggufKinds[] = {
    {"llama", "llama", "LlamaForCausalLM", true},
    {"qwen2", "qwen2", "Qwen2ForCausalLM"},
    {"qwen3", "qwen3", "Qwen3ForCausalLM"},
    {"gemma", "gemma", "GemmaForCausalLM", false, true},
    {"gemma2", "gemma2", "Gemma2ForCausalLM", false, true, true},
    {"gemma3", "gemma3_text", "Gemma3ForCausalLM", false, true, true},
    {"phi3", "phi3", "Phi3ForCausalLM"},
    {"llama", "mixtral", "MixtralForCausalLM", true, false, false, true},
    {"qwen3moe", "qwen3_moe", "Qwen3MoeForCausalLM", false, false, false, true},
    {"gpt-oss", "gpt_oss", "GptOssForCausalLM", false, false, false, true},
};

using Renames = std::vector<std::pair<std::string, std::string>>;

/// Makes the config.json of a file's values.
class GgufConfig {
public:
  GgufConfig(const json::Object &values, Folder &folder, const GgufKind &kind)
      : values(values), folder(folder), kind(kind), prefix(kind.architecture.str() + ".") {}
  Error read();

private:
  const json::Value *find(StringRef key) const { return values.get((prefix + key).str()); }
  void take(StringRef key, StringRef theirs);
  Error readRope();
  void readScores();
  Error takeHeads();
  void readExperts();

  const json::Object &values;
  Folder &folder;
  const GgufKind &kind;
  std::string prefix;
};

} // namespace

/// Names of Hugging Face, and those of GGUF. Longer ones stand before those that they begin with.
static Renames ggufNames(const GgufKind &kind) {
  Renames names = {
      {"model.embed_tokens", "token_embd"},
      {"model.layers", "blk"},
      {"model.norm", "output_norm"},
      {"lm_head", "output"},
      {"input_layernorm", "attn_norm"},
      {"post_attention_layernorm",
       kind.hasFourNorms || kind.type == "gpt_oss" ? "post_attention_norm" : "ffn_norm"},
      {"self_attn.qkv_proj", "attn_qkv"},
      {"self_attn.q_proj", "attn_q"},
      {"self_attn.k_proj", "attn_k"},
      {"self_attn.v_proj", "attn_v"},
      {"self_attn.o_proj", "attn_output"},
      {"self_attn.q_norm", "attn_q_norm"},
      {"self_attn.k_norm", "attn_k_norm"},
      {"self_attn.sinks", "attn_sinks"},
      {"self_attn", "attn"},
      {"mlp.router", "ffn_gate_inp"},
      {"block_sparse_moe.gate", "ffn_gate_inp"},
      {"mlp.experts", "ffn_exps"}, // as the runtime calls each of those that are packed
      {"block_sparse_moe.experts", "ffn_exps"},
      {"mlp.gate_up_proj", "ffn_up"},
      {"mlp.gate_proj", "ffn_gate"},
      {"mlp.up_proj", "ffn_up"},
      {"mlp.down_proj", "ffn_down"},
      {"mlp", "ffn"}};
  if (kind.hasExperts) // else a map that Phi-3 has a part of is called so
    names.insert(names.begin(), {"mlp.gate", "ffn_gate_inp"});
  if (kind.hasFourNorms) {
    names.push_back({"pre_feedforward_layernorm", "ffn_norm"});
    names.push_back({"post_feedforward_layernorm", "post_ffw_norm"});
  }
  return names;
}

/// The tensors of a file under Hugging Face's names.
static Shapes shapesThere(const Shapes &shapes, const Renames &names) {
  Shapes there;
  for (auto &[name, shape] : shapes) {
    std::string theirs = name;
    for (auto &[hugging, ours] : names) {
      StringRef rest = name;
      std::string layer;
      if (rest.consume_front("blk.") || rest.consume_front("layers.")) {
        size_t dot = rest.find('.');
        layer = "model.layers." + rest.take_front(dot == StringRef::npos ? 0 : dot + 1).str();
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

void GgufConfig::take(StringRef key, StringRef theirs) {
  if (const json::Value *value = find(key))
    folder.config[theirs] = *value;
}

/// Heads may be given for each layer; those of all have to be alike.
Error GgufConfig::takeHeads() {
  for (auto [key, theirs] :
       {std::pair<StringRef, StringRef>("attention.head_count", "num_attention_heads"),
        {"attention.head_count_kv", "num_key_value_heads"},
        {"feed_forward_length", "intermediate_size"}}) {
    const json::Value *value = find(key);
    const json::Array *each = value ? value->getAsArray() : nullptr;
    if (!each) {
      take(key, theirs);
      continue;
    }
    if (each->empty() ||
        !all_of(*each, [&](const json::Value &one) { return one == each->front(); }))
      return importError("`" + prefix + key + "` differs from layer to layer, which is not read");
    folder.config[theirs] = each->front();
  }
  return Error::success();
}

Error GgufConfig::readRope() {
  folder.config["rope_theta"] = 10000; // llama.cpp's default
  take("rope.freq_base", "rope_theta");
  if (kind.type == "gemma3_text") // which files do not say
    folder.config["rope_local_base_freq"] = 10000;
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
  const json::Value *type = find("rope.scaling.type");
  std::string scaling = type && type->getAsString() ? type->getAsString()->str() : "none";
  if (scaling == "linear") {
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
    if (kind.type == "gpt_oss") // which files do not say
      yarn["truncate"] = false;
    folder.config["rope_scaling"] = std::move(yarn);
  } else if (scaling != "none") {
    return importError(
        "`" + prefix + "rope.scaling.type` is `" + scaling +
            "`, expected `none`, `linear` or `yarn`",
        "write the angles as a `table` and give them to `rotary(x, half, angles = …)`");
  }
  return Error::success();
}

void GgufConfig::readExperts() {
  bool isQwen = kind.type == "qwen3_moe";
  take("expert_count", isQwen ? "num_experts" : "num_local_experts");
  take("expert_used_count", "num_experts_per_tok");
  take("expert_feed_forward_length", isQwen ? "moe_intermediate_size" : "intermediate_size");
  if (isQwen) // as llama.cpp computes them, whatever is said
    folder.config["norm_topk_prob"] = true;
  if (kind.type == "gpt_oss")
    folder.config["swiglu_limit"] = 7;
}

/// Gemma's scores are scaled as llama.cpp does: its largest models by the features that a head
/// would have if all together were as wide as the model.
void GgufConfig::readScores() {
  take("attn_logit_softcapping", "attn_logit_softcapping");
  take("final_logit_softcapping", "final_logit_softcapping");
  if (!kind.hasFourNorms)
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

Error GgufConfig::read() {
  folder.config["model_type"] = kind.type;
  folder.config["architectures"] = json::Array{kind.task};
  static constexpr std::pair<StringRef, StringRef> keys[] = {
      {"embedding_length", "hidden_size"},
      {"block_count", "num_hidden_layers"},
      {"attention.key_length", "head_dim"},
      {"attention.layer_norm_rms_epsilon", "rms_norm_eps"},
      {"context_length", "max_position_embeddings"},
      {"attention.sliding_window", "sliding_window"}};
  for (auto [key, theirs] : keys)
    take(key, theirs);
  if (folder.config.getInteger("sliding_window") == 0) // none
    folder.config.erase("sliding_window");
  if (Error error = takeHeads())
    return error;
  if (kind.hasExperts)
    readExperts();
  auto embedding = folder.shapes.find("model.embed_tokens.weight");
  if (embedding == folder.shapes.end() || embedding->second.size() != 2)
    return importError("there is no matrix `token_embd.weight` in it");
  folder.config["vocab_size"] = embedding->second[0];
  folder.config["tie_word_embeddings"] = !folder.has("lm_head.weight");
  if (folder.has("model.layers.0.self_attn.q_proj.bias"))
    folder.config["attention_bias"] = true;
  json::Object generation;
  for (auto [key, theirs] :
       {std::pair<StringRef, StringRef>("tokenizer.ggml.eos_token_id", "eos_token_id"),
        {"tokenizer.ggml.eot_token_id", "eot"}})
    if (const json::Value *token = values.get(key))
      generation[theirs] = *token;
  if (const json::Value *turn = generation.get("eot")) { // a turn of a chat ends with another
    const json::Value *end = generation.get("eos_token_id");
    if (end && *end != *turn)
      generation["eos_token_id"] = json::Array{*end, *turn};
    generation.erase("eot");
  }
  folder.generation = std::move(generation);
  if (Error error = readRope())
    return error;
  readScores();
  return Error::success();
}

Expected<Folder> readGgufModel(StringRef path, const json::Object &values, const Shapes &shapes) {
  std::string list;
  auto architecture = values.getString("general.architecture");
  const json::Value *count =
      architecture ? values.get((*architecture + ".expert_count").str()) : nullptr;
  bool hasExperts = count && count->getAsInteger().value_or(0) > 0, isKnown = false;
  const GgufKind *kind = find_if(ggufKinds, [&](const GgufKind &one) {
    list += (list.empty() ? "" : ", ") + one.architecture.str() +
            (one.hasExperts ? " with experts" : "");
    bool isSame = architecture && one.architecture == *architecture;
    isKnown |= isSame;
    return isSame && one.hasExperts == hasExperts;
  });
  if (!architecture)
    return importError("there is no `general.architecture` in it");
  if (kind == std::end(ggufKinds))
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
  if (Error error = GgufConfig(values, folder, *kind).read())
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
