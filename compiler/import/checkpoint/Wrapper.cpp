// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A folder of a model that sees -> that of the language model in it:
//
//   text_config.hidden_size, language_model.model.layers.0 -> hidden_size, model.layers.0
#include "compiler/import/checkpoint/Wrapper.h"
#include "compiler/import/checkpoint/Eyes.h"
#include "llvm/ADT/STLExtras.h"
#include <set>

using namespace llvm;

namespace attn::importer {

/// Models whose language model, given a text alone, computes what it does by itself.
static constexpr StringRef wrapperTypes[] = {
    "paligemma",        "gemma3",          "mistral3",     "llava",       "llava_next",
    "llava_next_video", "llava_onevision", "vipllava",     "internvl",    "idefics3",
    "smolvlm",          "voxtral",         "qwen3_5",      "qwen3_5_moe", "qwen2_vl",
    "qwen2_5_vl",       "qwen3_vl",        "qwen3_vl_moe", "llama4",      "gemma4"};

namespace {

/// A value that the published class has where `text_config` says nothing.
struct InnerDefault {
  StringRef type, key;
  double value;
};

} // namespace

static constexpr InnerDefault innerDefaults[] = {
    {"gemma3_text", "vocab_size", 262208},
    {"gemma3_text", "hidden_size", 2304},
    {"gemma3_text", "intermediate_size", 9216},
    {"gemma3_text", "num_hidden_layers", 26},
    {"gemma3_text", "num_attention_heads", 8},
    {"gemma3_text", "head_dim", 256},
    {"gemma3_text", "max_position_embeddings", 131072},
    {"gemma3_text", "query_pre_attn_scalar", 256},
    {"gemma3_text", "sliding_window", 4096},
    {"gemma3_text", "rope_theta", 1000000},
    {"gemma3_text", "rope_local_base_freq", 10000},
    {"gemma", "vocab_size", 256000},
    {"gemma", "hidden_size", 3072},
    {"gemma", "intermediate_size", 24576},
    {"gemma", "num_hidden_layers", 28},
    {"gemma", "num_attention_heads", 16},
    {"gemma", "num_key_value_heads", 16},
    {"gemma", "head_dim", 256},
    {"gemma", "max_position_embeddings", 8192},
    {"gemma2", "vocab_size", 256000},
    {"gemma2", "hidden_size", 2304},
    {"gemma2", "intermediate_size", 9216},
    {"gemma2", "num_hidden_layers", 26},
    {"gemma2", "num_attention_heads", 8},
    {"gemma2", "num_key_value_heads", 4},
    {"gemma2", "head_dim", 256},
    {"gemma2", "max_position_embeddings", 8192},
    {"gemma2", "query_pre_attn_scalar", 256},
    {"gemma2", "sliding_window", 4096},
    {"llama", "vocab_size", 32000},
    {"llama", "hidden_size", 4096},
    {"llama", "intermediate_size", 11008},
    {"llama", "num_hidden_layers", 32},
    {"llama", "num_attention_heads", 32},
    {"llama", "max_position_embeddings", 2048},
    {"mistral", "vocab_size", 32000},
    {"mistral", "hidden_size", 4096},
    {"mistral", "intermediate_size", 14336},
    {"mistral", "num_hidden_layers", 32},
    {"mistral", "num_attention_heads", 32},
    {"mistral", "max_position_embeddings", 131072},
    {"qwen3", "vocab_size", 151936},
    {"qwen3", "hidden_size", 4096},
    {"qwen3", "intermediate_size", 22016},
    {"qwen3", "num_hidden_layers", 32},
    {"qwen3", "num_attention_heads", 32},
    {"qwen3", "num_key_value_heads", 32},
    {"qwen3", "head_dim", 128},
    {"qwen3", "max_position_embeddings", 32768},
    {"qwen2", "vocab_size", 151936},
    {"qwen2", "hidden_size", 4096},
    {"qwen2", "intermediate_size", 22016},
    {"qwen2", "num_hidden_layers", 32},
    {"qwen2", "num_attention_heads", 32},
    {"qwen2", "max_position_embeddings", 32768},
};

/// What the names of the language model's tensors begin with; empty where there is none.
static std::string beginOf(const Folder &folder) {
  for (StringRef begin :
       {"language_model.model.", "model.language_model.", "model.text_model.", "model."})
    if (folder.has((begin + "embed_tokens.weight").str()))
      return begin.str();
  return "";
}

/// The config of the language model, with the defaults of its class.
static void readInner(const json::Object &whole, const json::Object &text, InnerModel &inner) {
  json::Object &config = inner.folder.config;
  config = text;
  bool isIdefics = inner.typeOfWrapper == "idefics3" || inner.typeOfWrapper == "smolvlm";
  bool isIntern = inner.typeOfWrapper == "internvl";
  if ((isIdefics || isIntern) && !config.get("model_type"))
    config["model_type"] = isIntern ? "qwen2" : "llama";
  std::string type = config.getString("model_type").value_or("").str(), said;
  for (const InnerDefault &one : innerDefaults)
    if (one.type == type && !config.get(one.key)) {
      config[one.key] = static_cast<int64_t>(one.value);
      said += (said.empty() ? "`" : ", `") + one.key.str() + "`";
    }
  if (!said.empty())
    inner.notes.push_back("`text_config` does not say " + said +
                          ": the defaults of the published class");
  for (StringRef key : {"eos_token_id", "bos_token_id", "pad_token_id", "tie_word_embeddings"})
    if (const json::Value *value = whole.get(key); value && !config.get(key))
      config[key] = *value;
  bool isGemma = inner.typeOfWrapper == "gemma3" || inner.typeOfWrapper == "paligemma";
  // Where pictures are read, the class around decides; LLaVA's takes what either says.
  if (!eyesParts(inner.typeOfWrapper).empty()) {
    bool ofText = text.getBoolean("tie_word_embeddings").value_or(false);
    if (std::optional<bool> outer = whole.getBoolean("tie_word_embeddings"))
      config["tie_word_embeddings"] = *outer || (ofText && inner.typeOfWrapper == "llava");
    else if (isGemma || isIdefics)
      config["tie_word_embeddings"] = isGemma;
  }
  if (const json::Value *cap = config.get("final_logit_softcapping");
      isGemma && (cap || type == "gemma2")) {
    if (!cap || cap->kind() != json::Value::Null)
      inner.notes.push_back("`text_config.final_logit_softcapping` is left out, as the published "
                            "class of the whole leaves it out");
    config["final_logit_softcapping"] = nullptr;
  }
  if (inner.typeOfWrapper == "paligemma") // whatever it says, a prompt sees itself whole
    config.erase("use_bidirectional_attention");
  // Each of these families has a class of this kind, by whatever name.
  config["architectures"] = json::Array{"TextForCausalLM"};
  // A rule that angles had before positions of pictures were values beside it.
  for (StringRef key : {"rope_scaling", "rope_parameters"})
    if (json::Object *angles = config.getObject(key))
      for (StringRef type : {"type", "rope_type"})
        if (angles->getString(type) == StringRef("mrope"))
          (*angles)[type] = "default";
  if (const json::Value *packed = whole.get("quantization_config"))
    config["quantization_config"] = *packed;
}

/// The config of a language model whose values stand beside those of the encoder of pictures, as
/// folders of 2024 have it: without what is of that encoder.
static json::Object besideEyes(const json::Object &whole) {
  json::Object text = whole;
  text.erase("vision_config");
  text["model_type"] = (whole.getString("model_type").value_or("") + "_text").str();
  return text;
}

/// Tensors as a family calls them; lines of the spec for all others.
static void readTensors(const Folder &folder, const std::string &begin, InnerModel &inner) {
  std::string head =
      folder.has("language_model.lm_head.weight") ? "language_model.lm_head" : "lm_head";
  inner.names = {{"lm_head", head}};
  for (StringRef part : {"embed_tokens_per_layer", "embed_tokens", "layers", "norm",
                         "per_layer_model_projection", "per_layer_projection_norm"})
    inner.names.push_back({("model." + part).str(), begin + part.str()});
  std::set<std::string> others;
  ArrayRef<StringRef> eyes = eyesParts(inner.typeOfWrapper);
  for (const auto &[name, shape] : folder.shapes) {
    StringRef rest = name;
    if (any_of(eyes, [&](StringRef part) { return rest.starts_with((part + ".").str()); }))
      continue;
    if (rest.consume_front(begin)) {
      inner.folder.shapes["model." + rest.str()] = shape;
    } else if (rest.consume_front(head)) {
      inner.folder.shapes["lm_head" + rest.str()] = shape;
    } else {
      bool isDeep = rest.consume_front("model.");
      others.insert((isDeep ? "model." : "") + rest.split('.').first.str());
    }
  }
  for (const std::string &other : others)
    inner.ignored += "ignore \"" + other + ".*\"  // not of the language model\n";
}

std::optional<InnerModel> innerModel(const Folder &folder) {
  StringRef type = folder.config.getString("model_type").value_or("");
  const json::Object *text = folder.config.getObject("text_config");
  std::string begin = beginOf(folder);
  json::Object beside;
  if (!text && !eyesParts(type).empty()) {
    beside = besideEyes(folder.config);
    text = &beside;
  }
  if (type == "ministral3" && text) // as some are published, whose language model is called so
    type = "mistral3";
  if (!is_contained(wrapperTypes, type) || !text || begin.empty())
    return std::nullopt;
  InnerModel inner;
  inner.folder = folder;
  inner.folder.shapes.clear();
  inner.typeOfWrapper = type.str();
  readInner(folder.config, *text, inner);
  readTensors(folder, begin, inner);
  bool hasEyes = any_of(eyesParts(type), [&](StringRef part) { return folder.hasWithin(part); });
  if (const json::Array *all = folder.config.getArray("architectures"); hasEyes && all)
    inner.architecture = all->empty() ? "" : all->front().getAsString().value_or("").str();
  if (!hasEyes)
    inner.notes.push_back("what is not of the language model (`" + begin +
                          "`) is left out: the spec takes texts alone, no pictures and no sounds");
  return inner;
}

} // namespace attn::importer
