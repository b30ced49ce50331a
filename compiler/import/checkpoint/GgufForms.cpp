// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What files of llama.cpp say of encoders of texts and of decoders in GPT's form, as a config.json.
#include "compiler/import/checkpoint/GgufConfig.h"
#include "llvm/ADT/STLExtras.h"

using namespace llvm;

namespace attn::importer {

Error GgufConfig::readLatent() {
  if (Error error = takeAll({{"attention.q_lora_rank", "q_lora_rank"},
                             {"attention.kv_lora_rank", "kv_lora_rank"},
                             {"rope.dimension_count", "qk_rope_head_dim"}}))
    return error;
  auto wholeOf = [&](StringRef key, StringRef older) -> std::optional<int64_t> {
    const json::Value *newer = find(key), *old = find(older);
    const json::Value *value = newer ? newer : old;
    return value ? value->getAsInteger() : std::nullopt;
  };
  // Newer files are written for the absorbed form, whose one head of keys is as long as its row.
  std::optional<int64_t> keys = wholeOf("attention.key_length_mla", "attention.key_length"),
                         values = wholeOf("attention.value_length_mla", "attention.value_length");
  for (StringRef key : {"head_dim", "num_key_value_heads"})
    folder.config.erase(key);
  auto turned = folder.config.getInteger("qk_rope_head_dim");
  if (!keys || !turned || *keys <= *turned)
    return importError("`" + prefix + "attention.key_length` and `" + prefix +
                       "rope.dimension_count` do not say how many features of a head there are, "
                       "and how many of them turn");
  folder.config["qk_nope_head_dim"] = *keys - *turned;
  if (values)
    folder.config["v_head_dim"] = *values;
  return Error::success();
}

Error GgufConfig::readMixture(const LlamaExperts &experts) {
  const json::Value *gating = find("expert_gating_func");
  // Older files do not say; the chances of the first models are not corrected.
  bool isCorrected = any_of(folder.shapes, [](const auto &tensor) {
    return StringRef(tensor.first).ends_with("e_score_correction_bias");
  });
  bool isSoftmax = gating ? gating->getAsInteger() == 1 : !isCorrected;
  if (kind.architecture == "deepseek2" && isSoftmax) { // DeepSeek V2's
    folder.config["model_type"] = "deepseek_v2";
    folder.config["topk_method"] = "group_limited_greedy";
  }
  for (auto [key, theirs] : {std::pair<StringRef, StringRef>("n_group", "expert_group_count"),
                             {"topk_group", "expert_group_used_count"}}) {
    folder.config[key] = 1;
    if (Error error = take(theirs, key))
      return error;
  }
  folder.config["norm_topk_prob"] = false; // as llama.cpp takes it
  folder.config[experts.denseKey] = 0;
  if (!experts.scaleKey.empty())
    if (Error error = take("expert_weights_scale", experts.scaleKey))
      return error;
  if (Error error = takeAll({{"expert_weights_norm", "norm_topk_prob"},
                             {"leading_dense_block_count", experts.denseKey},
                             {"expert_shared_count", experts.sharedKey},
                             {"interleave_moe_layer_step", experts.stepKey}}))
    return error;
  const json::Value *each = find("expert_feed_forward_length"),
                    *shared = find("expert_shared_feed_forward_length");
  auto width = each ? each->getAsInteger() : std::nullopt,
       all = shared ? shared->getAsInteger() : std::nullopt;
  if (width && all && *width > 0 && *all % *width == 0)
    folder.config[experts.sharedKey] = *all / *width;
  return Error::success();
}

/// Which gelu it is files do not say: it is the one that the published models have, of erf.
Error GgufConfig::readBert() {
  if (Error error = takeAll({{"embedding_length", "hidden_size"},
                             {"block_count", "num_hidden_layers"},
                             {"feed_forward_length", "intermediate_size"},
                             {"attention.head_count", "num_attention_heads"},
                             {"attention.layer_norm_epsilon", "layer_norm_eps"},
                             {"context_length", "max_position_embeddings"}}))
    return error;
  return readPooling();
}

Error GgufConfig::readNomic() {
  folder.config["activation_function"] = "swiglu"; // which files do not say
  if (Error error = takeAll({{"embedding_length", "n_embd"},
                             {"block_count", "n_layer"},
                             {"feed_forward_length", "n_inner"},
                             {"attention.head_count", "n_head"},
                             {"attention.layer_norm_epsilon", "layer_norm_epsilon"},
                             {"context_length", "n_positions"},
                             {"rope.freq_base", "rotary_emb_base"}}))
    return error;
  return readPooling();
}

Error GgufConfig::readModernBert() {
  if (Error error = takeAll({{"embedding_length", "hidden_size"},
                             {"block_count", "num_hidden_layers"},
                             {"feed_forward_length", "intermediate_size"},
                             {"attention.head_count", "num_attention_heads"},
                             {"attention.layer_norm_epsilon", "norm_eps"},
                             {"attention.sliding_window", "local_attention"},
                             {"attention.sliding_window_pattern", "global_attn_every_n_layers"},
                             {"context_length", "max_position_embeddings"},
                             {"hidden_activation", "hidden_activation"},
                             {"rope.freq_base", "global_rope_theta"},
                             {"rope.freq_base_swa", "local_rope_theta"}}))
    return error;
  const json::Value *pooling = find("pooling_type");
  if (pooling && pooling->getAsInteger() == 4)
    return importError("`" + prefix +
                       "pooling_type` is 4, a score, which of this architecture is "
                       "not read");
  return readPooling();
}

/// What differs between models of one family, tensors tell, too, as they do llama.cpp.
Error GgufConfig::readGpt(const GptKind &form) {
  const GptKeys &keys = form.keys;
  bool isNeoX = kind.type == "gpt_neox", isFalcon = kind.type == "falcon";
  if (isNeoX)
    folder.config["rotary_emb_base"] = 10000; // llama.cpp's default
  if (isFalcon)
    folder.config["rope_theta"] = 10000;
  auto name = [](StringRef alternatives) { return alternatives.split('|').first; };
  if (Error error =
          takeAll({{"embedding_length", name(keys.width)},
                   {"block_count", name(keys.layers)},
                   {"feed_forward_length", keys.hidden.empty() ? "n_inner" : keys.hidden},
                   {"attention.head_count", name(keys.heads)},
                   {"attention.layer_norm_epsilon", keys.eps},
                   {"context_length", keys.positions.empty() ? "seq_length" : keys.positions}}))
    return error;
  auto width = folder.config.getInteger(name(keys.width)),
       heads = folder.config.getInteger(name(keys.heads)),
       hidden = folder.config.getInteger("n_inner");
  if (keys.hidden.empty() && width && hidden && *hidden != 4 * *width)
    return importError("`" + prefix + "feed_forward_length` is " + std::to_string(*hidden) +
                       ", expected " + std::to_string(4 * *width) + ", four times the width");
  if (keys.hidden.empty())
    folder.config.erase("n_inner");
  if (isNeoX || isFalcon)
    if (Error error = take("rope.freq_base", isNeoX ? "rotary_emb_base" : "rope_theta"))
      return error;
  if (const json::Value *turned = isNeoX ? find("rope.dimension_count") : nullptr)
    if (width && heads && *heads > 0)
      folder.config["rotary_pct"] =
          double(turned->getAsInteger().value_or(0) * *heads) / double(*width);
  if (isNeoX)
    if (Error error = take("use_parallel_residual", "use_parallel_residual"))
      return error;
  if (form.traits & Mosaic)
    if (const json::Value *clip = find("attention.clamp_kqv"))
      folder.config["attn_config"] = json::Object{{"clip_qkv", *clip}};
  if (isFalcon) {
    folder.config["num_kv_heads"] = 1; // as files of the smaller models have it
    if (Error error = take("attention.head_count_kv", "num_kv_heads"))
      return error;
    bool hasTwo = folder.has(form.names.prefix.str() + "h.0.attn_norm_2.weight") ||
                  folder.has(form.names.prefix.str() + "h.0.ln_attn.weight");
    folder.config["new_decoder_architecture"] = folder.config.getInteger("num_kv_heads") != 1;
    folder.config["num_ln_in_parallel_attn"] = hasTwo ? 2 : 1;
  }
  return Error::success();
}

/// A text's vector as llama.cpp's programs give it: pooled, of length 1.
Error GgufConfig::readPooling() {
  if (auto rows = rowsOf("embeddings.token_type_embeddings.weight")) // DistilBERT has none
    folder.config["type_vocab_size"] = *rows;
  const json::Value *pooling = find("pooling_type");
  int64_t way = pooling ? pooling->getAsInteger().value_or(-1) : 0;
  auto classes = rowsOf("classifier.out_proj.weight");
  if (way == 4 && classes && folder.has("classifier.dense.weight")) {
    folder.config["architectures"] = json::Array{"BertForSequenceClassification"};
    folder.config["num_labels"] = *classes;
    return Error::success();
  }
  if (way < 0 || way > 3)
    return importError("`" + prefix + "pooling_type` is " + std::to_string(way) +
                       ", expected 0 (none), 1 (the mean of the tokens), 2 (the first one), 3 (the "
                       "last one), or 4 (a score) with the tensors `cls.weight` and "
                       "`cls.output.weight`");
  if (way == 0)
    return Error::success();
  StringRef modes[] = {"mean", "cls", "lasttoken"};
  std::string ofSentences = "sentence_transformers.models.";
  folder.modules.push_back({ofSentences + "Transformer", "", json::Object()});
  folder.modules.push_back({ofSentences + "Pooling", "pooling_type",
                            json::Object{{"pooling_mode", modes[way - 1].str()}}});
  folder.modules.push_back({ofSentences + "Normalize", "", json::Object()});
  return Error::success();
}

} // namespace attn::importer
