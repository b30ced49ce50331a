// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The families in Llama's form some of whose layers are recurrences: rows of its table.
//
//   Qwen Team 2025, "Qwen3-Next"; Qwen Team 2026, "Qwen3.5"; Liquid AI 2025, "LFM2"
//   Granite Team 2025, "Granite 4.0"; Chu et al. 2024, "Bamba"; Zuo et al. 2025, "Falcon-H1"
//   Lieber et al. 2024, "Jamba"; MiniMax 2025, "MiniMax-01"
//   NVIDIA 2025, "Nemotron-H", "NVIDIA Nemotron 3 Nano"
#include "compiler/import/checkpoint/LlamaExperts.h"
#include <vector>

using namespace llvm;

namespace attn::importer {

/// The language model of Qwen 3.5: three of four layers are delta nets.
static LlamaKind qwen35(StringRef type) {
  return LlamaKind(type)
      .with(GatedHeads)
      .withMixer(LlamaMixer::DeltaNet)
      .withAngles(10000, 0.25)
      .withNorms(LlamaNorm::OnePlusRms, 1e-6)
      .withHeadNorms(LlamaHeadNorm::Each)
      .withBiases(ifAsked, ifAsked);
}

static constexpr LlamaName lfmNames[] = {{"mlp.gate_proj", "feed_forward.w1"},
                                         {"mlp.up_proj", "feed_forward.w3"},
                                         {"mlp.down_proj", "feed_forward.w2"}};

/// LFM2's: most layers are short convolutions.
static LlamaKind lfm2(StringRef type) {
  return LlamaKind(type)
      .with(Tied | TieEmbedding)
      .withMixer(LlamaMixer::ShortConvolution)
      .withAngles(1000000)
      .withHeads(0, 8)
      .withNorms(LlamaNorm::Rms, 1e-5, "norm_eps")
      .withPlaces({"operator_norm", "", "ffn_norm", ""})
      .withHeadNorms(LlamaHeadNorm::Each, "q_layernorm", "k_layernorm")
      .withNames("out_proj", "embedding_norm")
      .withOwnNames(lfmNames)
      .withActKey("");
}

static constexpr LlamaName graniteNames[] = {{"mlp.gate_up_proj", "shared_mlp.input_linear"},
                                             {"mlp.gate", "shared_mlp.gate"},
                                             {"mlp.up", "shared_mlp.up"},
                                             {"mlp.down_proj", "shared_mlp.output_linear"}},
                           feedForwardNames[] = {{"mlp", "feed_forward"}};
constexpr LlamaPlaces feedForwardPlaces = {"input_layernorm", "", "pre_ff_layernorm", ""};

/// Granite 4, most of whose layers are Mamba 2; without experts, the expert of all rows is left.
static LlamaKind graniteHybrid() {
  return LlamaKind("granitemoehybrid")
      .with(Multipliers | TurnsIfSaid)
      .withMixer(LlamaMixer::Mamba)
      .withExperts(graniteHybridExperts)
      .withMlp(LlamaMlp::Packed)
      .withOwnNames(graniteNames)
      .withBiases(ifAsked, ifAsked);
}

/// Bamba and Falcon H1.
static LlamaKind mambaHybrid(StringRef type, LlamaMixer mixer) {
  return LlamaKind(type)
      .withMixer(mixer)
      .withHeads(0, 8)
      .withNorms(LlamaNorm::Rms)
      .withPlaces(feedForwardPlaces)
      .withNames("o_proj", "final_layernorm")
      .withOwnNames(feedForwardNames)
      .withBiases(ifAsked, ifAsked, mlpIfAsked);
}

static constexpr LlamaName nemotronNames[] = {{"model.embed_tokens", "backbone.embeddings"},
                                              {"model.embed_tokens", "backbone.embedding"},
                                              {"model.layers", "backbone.layers"},
                                              {"model.norm_f", "backbone.norm_f"},
                                              {"embed_tokens", "embeddings"},
                                              {"self_attn.q_proj", "q_proj"},
                                              {"self_attn.k_proj", "k_proj"},
                                              {"self_attn.v_proj", "v_proj"},
                                              {"self_attn.o_proj", "o_proj"},
                                              {"mlp.up_proj", "up_proj"},
                                              {"mlp.down_proj", "down_proj"},
                                              {"mlp.gate", "gate"},
                                              {"mlp.experts", "experts"},
                                              {"mlp.shared_experts", "shared_experts"},
                                              {"mlp.fc1_latent_proj", "fc1_latent_proj"},
                                              {"mlp.fc2_latent_proj", "fc2_latent_proj"}};

/// Nemotron H and Nemotron 3, each of whose layers is one part.
static LlamaKind nemotronHybrid() {
  return LlamaKind("nemotron_h")
      .with(OnePart | NeverTurns | NeverTied)
      .withMixer(LlamaMixer::NemotronMamba)
      .withExperts(nemotronExperts)
      .withHeads(128, 8)
      .withNorms(LlamaNorm::Rms, 1e-5, "layer_norm_epsilon")
      .withPlaces({"norm", "", "", ""})
      .withMlp(LlamaMlp::Plain, "relu2")
      .withActKey("mlp_hidden_act")
      .withNames("o_proj", "norm_f")
      .withOwnNames(nemotronNames)
      .withBiases({}, {}, mlpIfAsked);
}

std::vector<LlamaKind> hybridKinds() {
  return {
      qwen35("qwen3_5_text").withHeads(256, 4),
      qwen35("qwen3_5_moe_text").withHeads(256, 2).withExperts(summedSharedExperts),
      qwen35("qwen3_next")
          .withHeads(256, 2)
          .withExperts(mostlySummedExperts)
          .withMixer(LlamaMixer::PackedDeltaNet),
      lfm2("lfm2").with(AdjustedWidth),
      lfm2("lfm2_moe").withExperts(lfmExperts),
      graniteHybrid(),
      mambaHybrid("bamba", LlamaMixer::Mamba).withAngles(10000, 0.5),
      mambaHybrid("falcon_h1", LlamaMixer::FalconMamba).with(PartMultipliers),
      nemotronHybrid(),
      LlamaKind("minimax")
          .with(NormedResidual | OptionalWindow)
          .withMixer(LlamaMixer::Lightning)
          .withExperts(mixtralExperts)
          .withAngles(1000000)
          .withHeads(0, 8)
          .withNorms(LlamaNorm::Rms),
      LlamaKind("jamba")
          .with(NeverTurns)
          .withMixer(LlamaMixer::JambaSelective)
          .withExperts(jambaExperts)
          .withHeads(0, 8)
          .withPlaces(feedForwardPlaces)
          .withNames("o_proj", "final_layernorm")
          .withOwnNames(feedForwardNames),
  };
}

} // namespace attn::importer
