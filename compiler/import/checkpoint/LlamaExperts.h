// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Mixtures of experts of decoders in Llama's form: a row for each way in which they are called.
#pragma once

#include "compiler/import/checkpoint/LlamaKinds.h"

namespace attn::importer {

/// Mixtral's.
inline constexpr LlamaExperts mixtralExperts = {
    "block_sparse_moe", "w1", "w3", "w2", "num_local_experts", "intermediate_size", true};
/// Phi-3.5 MoE's, of which a row has two.
inline constexpr LlamaExperts phiExperts = [] {
  LlamaExperts experts = mixtralExperts;
  experts.isSparseMixer = true;
  return experts;
}();
/// Qwen 3's, which others have, too.
inline constexpr LlamaExperts qwenExperts = {
    "mlp", "gate_proj", "up_proj", "down_proj", "num_experts", "moe_intermediate_size", false};
/// Qwen3-VL's.
inline constexpr LlamaExperts turnedExperts = [] {
  LlamaExperts experts = qwenExperts;
  experts.sharesSum = experts.isTurned = true;
  return experts;
}();
/// GPT-OSS's.
inline constexpr LlamaExperts ossExperts = {
    "mlp", "gate", "up",    "down_proj", "num_local_experts", "intermediate_size",
    true,  true,   "router"};

/// OLMoE's.
inline constexpr LlamaExperts olmoExperts = {
    "mlp", "gate_proj", "up_proj", "down_proj", "num_experts", "intermediate_size", false};
/// Qwen 2's, with an expert of all rows.
inline constexpr LlamaExperts sharedExperts = {"mlp",
                                               "gate_proj",
                                               "up_proj",
                                               "down_proj",
                                               "num_experts",
                                               "moe_intermediate_size",
                                               false,
                                               false,
                                               "gate",
                                               "shared_expert",
                                               "shared_expert_intermediate_size"};

/// The same, whose weights sum up to 1.
constexpr LlamaExperts summed(LlamaExperts experts) {
  experts.sharesSum = true;
  return experts;
}
/// Qwen 3.5's.
inline constexpr LlamaExperts summedSharedExperts = summed(sharedExperts);

/// The same, unless the config says otherwise.
constexpr LlamaExperts summedUnlessSaid(LlamaExperts experts) {
  experts.sharesOtherwise = true;
  return experts;
}
/// Qwen3-Next's.
inline constexpr LlamaExperts mostlySummedExperts = summedUnlessSaid(sharedExperts);
/// Hunyuan's.
inline constexpr LlamaExperts hunyuanExperts = {
    "mlp", "gate_proj", "up_proj",    "down_proj",         "num_experts", "intermediate_size", true,
    false, "gate.wg",   "shared_mlp", "intermediate_size", false,         "moe_topk"};
/// MiniMax M2's, whose chances are corrected.
inline constexpr LlamaExperts minimaxExperts = {"block_sparse_moe",
                                                "w1",
                                                "w3",
                                                "w2",
                                                "num_local_experts",
                                                "intermediate_size",
                                                true,
                                                false,
                                                "gate",
                                                "",
                                                "",
                                                false,
                                                "num_experts_per_tok",
                                                "e_score_correction_bias"};
/// Granite's.
inline constexpr LlamaExperts graniteExperts = {"block_sparse_moe",
                                                "gate",
                                                "up",
                                                "output_linear",
                                                "num_local_experts",
                                                "intermediate_size",
                                                true,
                                                false,
                                                "router.layer",
                                                "shared_mlp",
                                                "shared_intermediate_size",
                                                false,
                                                "num_experts_per_tok",
                                                "",
                                                false,
                                                true};
/// Granite 4's, whose expert of all rows is there, whatever is said.
inline constexpr LlamaExperts graniteHybridExperts = [] {
  LlamaExperts experts = graniteExperts;
  experts.sharedOtherwise = 1024;
  return experts;
}();
/// Mellum 2's.
inline constexpr LlamaExperts mellumExperts = {
    "mlp", "gate_proj", "up_proj", "down_proj", "num_experts", "moe_intermediate_size", false,
    false, "gate",      "",        "",          false,         "num_experts_per_tok",   "",
    true};

/// DeepSeek V3's and GLM 4.5's, which the first layers lack.
inline constexpr LlamaExperts correctedExperts = [] {
  LlamaExperts experts = qwenExperts;
  experts.countKey = "n_routed_experts";
  experts.shared = "shared_experts";
  experts.sharedKey = "n_shared_experts";
  experts.countsShared = true;
  experts.isSharedWeighted = false;
  experts.correction = "gate.e_score_correction_bias";
  experts.sharesOtherwise = true;
  experts.denseKey = "first_k_dense_replace";
  experts.dense = 1;
  experts.scaleKey = "routed_scaling_factor";
  return experts;
}();

/// DeepSeek V3's own, of groups.
inline constexpr LlamaExperts deepSeek3Experts = [] {
  LlamaExperts experts = correctedExperts;
  experts.dense = 3;
  experts.groups = 8;
  experts.chosenGroups = 4;
  experts.scale = 2.5;
  return experts;
}();

/// Dots.llm1's.
inline constexpr LlamaExperts dotsExperts = [] {
  LlamaExperts experts = correctedExperts;
  experts.dense = 0;
  experts.sharesOtherwise = false;
  return experts;
}();

/// Solar Open's.
inline constexpr LlamaExperts solarExperts = [] {
  LlamaExperts experts = correctedExperts;
  experts.denseKey = "";
  return experts;
}();

/// K-EXAONE's.
inline constexpr LlamaExperts exaoneExperts = [] {
  LlamaExperts experts = correctedExperts;
  experts.countKey = "num_experts";
  experts.sharedKey = "num_shared_experts";
  experts.scale = 2.5;
  experts.correction = "e_score_correction_bias";
  return experts;
}();

/// ERNIE 4.5's, whose chances are a softmax that is corrected.
inline constexpr LlamaExperts ernieExperts = [] {
  LlamaExperts experts = correctedExperts;
  experts.countKey = "moe_num_experts";
  experts.chosenKey = "moe_k";
  experts.sharedKey = "moe_num_shared_experts";
  experts.correction = "moe_statics.e_score_correction_bias";
  experts.areChancesShared = experts.isCorrectionOneRow = experts.sharesSum = true;
  experts.leastKey = "moe_norm_min";
  experts.denseKey = "moe_layer_start_index";
  experts.stepKey = "moe_layer_interval";
  experts.lastKey = "moe_layer_end_index";
  experts.scaleKey = "";
  return experts;
}();

/// GLM 4.7 Flash's.
inline constexpr LlamaExperts glm47Experts = [] {
  LlamaExperts experts = correctedExperts;
  experts.scale = 1.8;
  return experts;
}();

/// Mistral Small 4's, whose chances are a softmax, of groups by their best two.
inline constexpr LlamaExperts mistral4Experts = [] {
  LlamaExperts experts = correctedExperts;
  experts.correction = "";
  experts.dense = 0;
  return experts;
}();

/// DeepSeek V2's, whose chances are a softmax, and whose weights stay what they are.
inline constexpr LlamaExperts deepSeek2Experts = [] {
  LlamaExperts experts = correctedExperts;
  experts.correction = "";
  experts.dense = 0;
  experts.groupsByBest = true;
  return experts;
}();

/// Nemotron 3's, without gates.
inline constexpr LlamaExperts nemotronExperts = [] {
  LlamaExperts experts = correctedExperts;
  experts.gate = "";
  experts.sharedKey = "moe_shared_expert_intermediate_size";
  experts.countsShared = false;
  experts.denseKey = "";
  experts.latentKey = "moe_latent_size";
  return experts;
}();

/// Jamba's, in each second layer.
inline constexpr LlamaExperts jambaExperts = [] {
  LlamaExperts experts = qwenExperts;
  experts.name = "feed_forward";
  experts.router = "router";
  experts.hiddenKey = "intermediate_size";
  experts.periodKey = "expert_layer_period";
  experts.offsetKey = "expert_layer_offset";
  return experts;
}();

/// LFM2's, which the first layers lack.
inline constexpr LlamaExperts lfmExperts = [] {
  LlamaExperts experts = minimaxExperts;
  experts.name = "feed_forward";
  experts.countKey = "num_experts";
  experts.hiddenKey = "moe_intermediate_size";
  experts.sharesSum = false;
  experts.sharesOtherwise = true;
  experts.correction = "expert_bias";
  experts.correctionKey = "use_expert_bias";
  experts.leastSum = 1e-6;
  experts.denseKey = "num_dense_layers";
  experts.dense = 2;
  experts.scaleKey = "routed_scaling_factor";
  return experts;
}();

} // namespace attn::importer
