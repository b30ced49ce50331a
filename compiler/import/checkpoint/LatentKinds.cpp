// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The families of decoders in Llama's form whose keys and values are latent: a row for each.
//
//   DeepSeek-AI 2024, "DeepSeek-V2"; "DeepSeek-V3 Technical Report"
//   Moonshot AI 2025, "Kimi K2: Open Agentic Intelligence", whose form is DeepSeek V3's
//   Tencent 2025, "Youtu-LLM"; OpenBMB 2024, "MiniCPM 3"; Mistral AI 2026, "Mistral Small 4"
#include "compiler/import/checkpoint/LlamaExperts.h"

namespace attn::importer {

constexpr LlamaBias latentBias = {"attention_bias"};

/// DeepSeek V3's.
static LlamaKind deepSeek3() {
  return LlamaKind("deepseek_v3")
      .with(NeighboursUnlessSaid)
      .withExperts(deepSeek3Experts)
      .withLatent({1536, 512, 128, 64, 128})
      .withBiases(latentBias, latentBias);
}

std::vector<LlamaKind> latentKinds() {
  return {
      LlamaKind("deepseek_v2")
          .with(Neighbours)
          .withExperts(deepSeek2Experts)
          .withLatent({1536, 512, 128, 64, 128})
          .withBiases(latentBias, latentBias, {"mlp_bias"}),
      deepSeek3(),
      deepSeek3().as("kimi_k2"),
      LlamaKind("glm4_moe_lite")
          .with(NeighboursUnlessSaid)
          .withExperts(glm47Experts)
          .withLatent({768, 512, 192, 64, 256})
          .withNorms(LlamaNorm::Rms)
          .withBiases(latentBias, latentBias),
      LlamaKind("youtu")
          .with(NeighboursUnlessSaid | Tied)
          .withLatent({1536, 512, 128, 64, 128})
          .withBiases(latentBias, latentBias),
      LlamaKind("minicpm3")
          .with(DepthScaled | Tied)
          .withLatent({768, 256, 64, 32, 0})
          .withNorms(LlamaNorm::Rms)
          .withBiases(latentBias, latentBias, {"mlp_bias"}),
      LlamaKind("mistral4")
          .with(NeighboursUnlessSaid | PartsOfHeads | Tempered)
          .withExperts(mistral4Experts)
          .withLatent({1024, 256, 64, 64, 128})
          .withBiases(latentBias, latentBias),
  };
}

} // namespace attn::importer
