// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The families of decoders in Llama's form: a row for each, which says what differs from Llama.
//
//   Touvron et al. 2023, "LLaMA: Open and Efficient Foundation Language Models"
//   Jiang et al. 2023, "Mistral 7B"; Mistral AI 2025, "Ministral 3"
//   Yang et al. 2024, "Qwen2 Technical Report"; Yang et al. 2025, "Qwen3 Technical Report"
//   Gemma Team 2024, "Gemma", "Gemma 2"; 2025, "Gemma 3"
//   Abdin et al. 2024, "Phi-3 Technical Report"; Liu et al. 2024, "GRIN: GRadient-INformed MoE"
//   Jiang et al. 2024, "Mixtral of Experts"
//   OpenAI 2025, "gpt-oss-120b & gpt-oss-20b Model Card"
//   Bakouch et al. 2025, "SmolLM3: smol, multilingual, long-context reasoner"
//   Muennighoff et al. 2024, "OLMoE"; Qwen Team 2024, "Qwen1.5-MoE"
//   Groeneveld et al. 2024, "OLMo"; OLMo Team 2024, "2 OLMo 2 Furious"; 2025, "Olmo 3"
//   Granite Team 2024, "Granite 3.0 Language Models"
//   LG AI Research 2025, "EXAONE 4.0"; Baidu 2025, "ERNIE 4.5 Technical Report"
//   rednote-hilab 2025, "dots.llm1 Technical Report"; Upstage 2026, "Solar Open"; LG AI Research
//   2026, "K-EXAONE"
//   Team GLM 2024, "ChatGLM: A Family of Large Language Models"; 2025, "GLM-4.5"
//   Lozhkov et al. 2024, "StarCoder 2 and The Stack v2"
//   Bellagente et al. 2024, "Stable LM 2 1.6B Technical Report"
//   Gunasekar et al. 2023, "Textbooks Are All You Need"
//   Cohere 2024, "Command R"; Cohere 2025, "Command A"
//   Parmar et al. 2024, "Nemotron-4 15B Technical Report"
//   Hernández-Cano et al. 2025, "Apertus: Democratizing Open and Compliant LLMs"; Huang and
//   Schlag 2024, "Deriving Activation Functions Using Integration" (xIELU)
//   Sinha et al. 2025, "VaultGemma"; FAIR 2025, "CWM: An Open-Weights LLM for Research on Code
//   Generation with World Models"; Karpathy 2025, nanochat
//   Ma et al. 2025, "BitNet b1.58 2B4T Technical Report"; Inception 2025, "Jais 2"
//   Shi et al. 2025, "FlexOlmo"; Tencent 2025, "Hunyuan-A13B"; MiniMax 2025, "MiniMax-M2"
//   JetBrains 2025, "Mellum 2"
//   NAVER Cloud 2025, "HyperCLOVA X THINK Technical Report"
#include "compiler/import/checkpoint/LlamaExperts.h"
#include "llvm/ADT/STLExtras.h"
#include <vector>

using namespace llvm;

namespace attn::importer {

constexpr LlamaPlaces fourPlaces = {"input_layernorm", "post_attention_layernorm",
                                    "pre_feedforward_layernorm", "post_feedforward_layernorm"},
                      behindPlaces = {"", "post_attention_layernorm", "",
                                      "post_feedforward_layernorm"},
                      glm4Places = {"input_layernorm", "post_self_attn_layernorm",
                                    "post_attention_layernorm", "post_mlp_layernorm"},
                      onePlace = {"input_layernorm", "", "", ""};
constexpr StringRef tanhGelu = "gelu_pytorch_tanh";

/// Gemma's three, whose attention has biases if asked.
static LlamaKind gemma(StringRef type) {
  return LlamaKind(type)
      .with(ScaledTokens | Tied)
      .withNorms(LlamaNorm::OnePlusRms, 1e-6)
      .withMlp(LlamaMlp::Gated, tanhGelu)
      .withBiases(ifAsked, ifAsked);
}

static LlamaKind olmo2() {
  return LlamaKind("olmo2")
      .withNorms(LlamaNorm::Rms)
      .withPlaces(behindPlaces)
      .withHeadNorms(LlamaHeadNorm::All)
      .withBiases(ifAsked, ifAsked);
}

static LlamaKind glm() {
  return LlamaKind("glm")
      .with(Neighbours)
      .withAngles(10000, 0.5)
      .withHeads(128, 2)
      .withNorms(LlamaNorm::Rms, 1.5625e-7)
      .withBiases(unlessAsked)
      .withMlp(LlamaMlp::Packed);
}

/// GLM 4.5, whose first layers have no experts.
static LlamaKind glm45() {
  return LlamaKind("glm4_moe")
      .withExperts(correctedExperts)
      .withAngles(10000, 0.5)
      .withHeads(0, 8)
      .withNorms(LlamaNorm::Rms)
      .withHeadNorms(LlamaHeadNorm::Each, "q_norm", "k_norm", "use_qk_norm")
      .withBiases(ifAsked);
}

/// Solar Open, whose layers all have experts.
static LlamaKind solarOpen() {
  return LlamaKind("solar_open")
      .with(PartsOfHeads)
      .withExperts(solarExperts)
      .withAngles(1000000)
      .withHeads(128, 8)
      .withNorms(LlamaNorm::Rms)
      .withBiases(ifAsked);
}

static LlamaKind dots1() {
  LlamaKind kind = LlamaKind("dots1")
                       .with(TypedLayers | LastWindowed)
                       .withExperts(dotsExperts)
                       .withHeads(0, 32)
                       .withWindow(4096)
                       .withHeadNorms(LlamaHeadNorm::Each)
                       .withBiases(ifAsked, ifAsked);
  kind.windowedFrom = 62;
  return kind;
}

static LlamaKind exaoneMoe() {
  return LlamaKind("exaone_moe")
      .with(TypedLayers | OnlyNearTurn)
      .withExperts(exaoneExperts)
      .withHeads(0, 32)
      .withWindow(4096, 4)
      .withNorms(LlamaNorm::Rms)
      .withHeadNorms(LlamaHeadNorm::Each);
}

static LlamaKind ernie45Moe() {
  return LlamaKind("ernie4_5_moe")
      .with(Neighbours | Tied)
      .withExperts(ernieExperts)
      .withAngles(500000)
      .withHeads(0, 4)
      .withNorms(LlamaNorm::Rms)
      .withBiases(usedIfAsked, usedIfAsked, usedIfAsked)
      .withHeadBias(usedIfAsked);
}

static LlamaKind cohere() {
  return LlamaKind("cohere")
      .with(Neighbours | Parallel | LogitScale | Tied)
      .withAngles(500000)
      .withNorms(LlamaNorm::NoBias, 1e-5, "layer_norm_eps")
      .withPlaces(onePlace)
      .withBiases(ifAsked, ifAsked);
}

static LlamaKind granite() {
  return LlamaKind("granite").with(Multipliers).withBiases(ifAsked, ifAsked, mlpIfAsked);
}

/// Granite's with experts, of which one may be of all rows.
static LlamaKind graniteMoe(StringRef type) {
  return LlamaKind(type).with(Multipliers).withExperts(graniteExperts).withBiases(ifAsked, ifAsked);
}

using Norm = LlamaNorm;
using Heads = LlamaHeadNorm;
using Mlp = LlamaMlp;

/// Llama's own, and those that came first.
static std::vector<LlamaKind> firstKinds() {
  return {
      LlamaKind("llama").withBiases(ifAsked, ifAsked, mlpIfAsked),
      LlamaKind("mistral").withWindow(4096).withHeads(0, 8),
      LlamaKind("qwen2")
          .with(WindowIfAsked | TypedLayers | LastWindowed)
          .withBiases(always)
          .withWindow(4096)
          .withHeads(0, 32),
      LlamaKind("qwen2_vl_text")
          .with(WindowIfAsked | TypedLayers | LastWindowed)
          .withBiases(always)
          .withWindow(4096)
          .withHeads(0, 32)
          .withAngles(1e6),
      LlamaKind("qwen2_5_vl_text")
          .with(WindowIfAsked | TypedLayers | LastWindowed)
          .withBiases(always)
          .withWindow(4096)
          .withHeads(0, 32)
          .withAngles(1e6),
      LlamaKind("qwen3_vl_text")
          .withHeads(128, 32)
          .withHeadNorms(Heads::Each)
          .withBiases(ifAsked, ifAsked)
          .withAngles(5e5),
      LlamaKind("qwen3_vl_moe_text")
          .withExperts(turnedExperts)
          .withHeads(0, 16)
          .withHeadNorms(Heads::Each)
          .withBiases(ifAsked, ifAsked)
          .withAngles(5e5),
      LlamaKind("qwen3")
          .with(WindowIfAsked | TypedLayers | LastWindowed)
          .withHeads(128, 32)
          .withWindow(4096)
          .withHeadNorms(Heads::Each)
          .withBiases(ifAsked, ifAsked),
      gemma("gemma").withHeads(256, 16),
      gemma("gemma2")
          .with(QueryScalar | TypedLayers)
          .withHeads(256, 4)
          .withWindow(4096, 2)
          .withCaps(50, 30)
          .withPlaces(fourPlaces),
      gemma("gemma3_text")
          .with(QueryScalar | LocalBase | TypedLayers)
          .withAngles(1000000)
          .withHeads(256, 4)
          .withWindow(4096, 6)
          .withPlaces(fourPlaces)
          .withHeadNorms(Heads::Each),
      LlamaKind("phi3")
          .with(Packed | PartsOfHeads | YarnIsLongRope | OptionalWindow)
          .withNorms(Norm::Rms)
          .withMlp(Mlp::Packed),
      LlamaKind("mixtral")
          .with(OptionalWindow)
          .withExperts(mixtralExperts)
          .withAngles(1000000)
          .withNorms(Norm::Rms)
          .withHeads(0, 8),
      LlamaKind("qwen3_moe")
          .with(WindowIfAsked)
          .withExperts(qwenExperts)
          .withHeads(0, 4)
          .withWindow(4096)
          .withHeadNorms(Heads::Each)
          .withBiases(ifAsked, ifAsked),
      LlamaKind("gpt_oss")
          .with(Sinks | TypedLayers)
          .withExperts(ossExperts)
          .withAngles(150000)
          .withNorms(Norm::Rms)
          .withHeads(64, 8)
          .withWindow(128, 2)
          .withBiases(unlessAsked, unlessAsked),
  };
}

/// Others with rms norms, or norms before each part.
static std::vector<LlamaKind> rmsKinds() {
  return {
      LlamaKind("smollm3")
          .with(OnlySaidTurn | WindowIfAsked | TypedLayers | OptionalWindow | Tied)
          .withAngles(2000000)
          .withHeads(0, 4)
          .withBiases(ifAsked, ifAsked, mlpIfAsked),
      LlamaKind("olmo").with(Clipped).withNorms(Norm::Bare, 1e-5, "").withBiases(ifAsked, ifAsked),
      olmo2(),
      olmo2().as("olmo3").with(TypedLayers | FullScaling).withAngles(500000).withWindow(4096, 4),
      LlamaKind("olmoe")
          .with(Clipped)
          .withExperts(olmoExperts)
          .withNorms(Norm::Rms)
          .withHeadNorms(Heads::All)
          .withBiases(ifAsked, ifAsked),
      LlamaKind("qwen2_moe")
          .with(WindowIfAsked | TypedLayers | FirstWindowed)
          .withExperts(sharedExperts)
          .withHeads(0, 16)
          .withWindow(4096, 2)
          .withBiases({"qkv_bias", true}),
      granite(),
      LlamaKind("seed_oss")
          .withHeads(128, 8)
          .withBiases(unlessAsked, {"attention_out_bias"}, mlpIfAsked),
      LlamaKind("exaone4")
          .with(TypedLayers | OnlyNearTurn)
          .withHeads(0, 32)
          .withWindow(4096, 4)
          .withNorms(Norm::Rms)
          .withPlaces(behindPlaces)
          .withHeadNorms(Heads::Each),
      LlamaKind("ernie4_5")
          .with(Neighbours | Tied)
          .withAngles(500000)
          .withHeads(128, 2)
          .withNorms(Norm::Rms)
          .withBiases(usedIfAsked, usedIfAsked, usedIfAsked),
      LlamaKind("hunyuan_v1_dense")
          .with(AlphaBase)
          .withNorms(Norm::Rms)
          .withHeadNorms(Heads::Turned, "query_layernorm", "key_layernorm")
          .withBiases(ifAsked, ifAsked),
      glm(),
      glm().as("glm4").withPlaces(glm4Places),
      LlamaKind("ministral").with(TypedLayers).withHeads(0, 8).withWindow(4096),
      LlamaKind("ministral3")
          .with(OptionalWindow | Tempered)
          .withAngles(1000000)
          .withHeads(128, 8)
          .withNorms(Norm::Rms),
      LlamaKind("helium")
          .with(Neighbours)
          .withAngles(100000)
          .withHeads(128, 20)
          .withNorms(Norm::Rms, 1e-8)
          .withBiases(ifAsked, {}, mlpIfAsked),
      LlamaKind("arcee")
          .withNorms(Norm::Rms)
          .withMlp(Mlp::Plain, "relu2")
          .withBiases(ifAsked, ifAsked, mlpIfAsked),
      LlamaKind("nemotron")
          .withAngles(10000, 0.5)
          .withNorms(Norm::OnePlusLayer, 1e-5, "norm_eps")
          .withMlp(Mlp::Plain, "relu2")
          .withBiases(ifAsked, ifAsked, mlpIfAsked),
  };
}

/// With layer norms as of GPT-2, or with one norm for both parts.
static std::vector<LlamaKind> layerNormKinds() {
  return {
      LlamaKind("starcoder2")
          .with(OptionalWindow | Tied)
          .withHeads(0, 2)
          .withNorms(Norm::Layer, 1e-5, "norm_epsilon")
          .withMlp(Mlp::Plain, tanhGelu, "c_fc", "c_proj")
          .withBiases(usedUnlessAsked, usedUnlessAsked, usedUnlessAsked),
      LlamaKind("stablelm")
          .with(ParallelIfAsked)
          .withAngles(10000, 0.25)
          .withHeads(0, 32)
          .withNorms(Norm::Layer, 1e-5, "layer_norm_eps")
          .withBiases({"use_qkv_bias"}),
      LlamaKind("phi")
          .with(Parallel)
          .withHeadBias(always)
          .withAngles(10000, 0.5)
          .withNorms(Norm::Layer, 1e-5, "layer_norm_eps")
          .withPlaces(onePlace)
          .withHeadNorms(Heads::Each, "q_layernorm", "k_layernorm", "qk_layernorm")
          .withMlp(Mlp::Plain, "gelu_new", "fc1", "fc2")
          .withNames("dense", "final_layernorm")
          .withBiases(always, always, always),
      cohere().withHeadNorms(Heads::Own, "q_norm", "k_norm", "use_qk_norm"),
      cohere().as("cohere2").with(TypedLayers | OnlyNearTurn).withAngles(10000).withWindow(4096, 4),
  };
}

/// Those of 2025, which differ in one thing or two.
static std::vector<LlamaKind> laterKinds() {
  return {
      LlamaKind("apertus")
          .withAngles(12000000)
          .withNorms(Norm::Rms)
          .withPlaces({"attention_layernorm", "", "feedforward_layernorm", ""})
          .withHeadNorms(Heads::Each)
          .withMlp(Mlp::Plain, "xielu")
          .withBiases(ifAsked, ifAsked),
      gemma("vaultgemma")
          .with(QueryScalar | TypedLayers)
          .withHeads(256, 4)
          .withWindow(4096, 2)
          .withCaps(50, 30)
          .withPlaces({"input_layernorm", "", "pre_feedforward_layernorm", ""}),
      LlamaKind("cwm")
          .with(TypedLayers | FullFirst)
          .withAngles(1000000)
          .withHeads(128, 8)
          .withWindow(8192, 4)
          .withNorms(Norm::Rms)
          .withBiases({}, {}, mlpIfAsked),
      LlamaKind("nanochat")
          .with(FinalCap | TokensNormed | TurnsBack)
          .withCaps(0, 15)
          .withNorms(Norm::BareRms, 1e-6)
          .withHeadNorms(Heads::Turned)
          .withMlp(Mlp::Plain, "relu2", "fc1", "fc2")
          .withBiases(ifAsked, ifAsked),
      LlamaKind("bitnet")
          .with(SubNorms)
          .withAngles(500000)
          .withHeads(0, 5)
          .withNorms(Norm::Rms)
          .withMlp(Mlp::Gated, "relu2")
          .withBiases(ifAsked, ifAsked),
      LlamaKind("jais2")
          .withNorms(Norm::Layer, 1e-5, "layer_norm_eps")
          .withMlp(Mlp::Plain, "relu2")
          .withBiases(unlessAsked, unlessAsked, {"mlp_bias", true}),
      granite()
          .as("hyperclovax")
          .with(LogitsTimes | NormsBehindIfSaid)
          .withPlaces({"input_layernorm", "post_norm1", "post_attention_layernorm", "post_norm2"}),
  };
}

/// With experts, of which a row is given to some.
static std::vector<LlamaKind> mixtureKinds() {
  return {
      LlamaKind("flex_olmo")
          .withExperts(olmoExperts)
          .withAngles(500000)
          .withPlaces(behindPlaces)
          .withHeadNorms(Heads::All)
          .withBiases(ifAsked, ifAsked),
      LlamaKind("hunyuan_v1_moe")
          .with(AlphaBase)
          .withExperts(hunyuanExperts)
          .withNorms(Norm::Rms)
          .withHeadNorms(Heads::Turned, "query_layernorm", "key_layernorm")
          .withBiases(ifAsked, ifAsked),
      LlamaKind("minimax_m2")
          .with(PartsOfHeads)
          .withExperts(minimaxExperts)
          .withAngles(5000000)
          .withHeads(128, 8)
          .withHeadNorms(Heads::All),
      LlamaKind("mellum")
          .with(TypedLayers | LocalBase)
          .withExperts(mellumExperts)
          .withAngles(500000)
          .withHeads(128, 4)
          .withWindow(1024, 1)
          .withHeadNorms(Heads::Each)
          .withBiases(ifAsked, ifAsked),
      LlamaKind("phimoe")
          .with(OptionalWindow)
          .withExperts(phiExperts)
          .withAngles(1000000)
          .withHeads(0, 8)
          .withNorms(Norm::Layer, 1e-5, "rms_norm_eps")
          .withBiases(ifAsked, ifAsked)
          .withHeadBias({"lm_head_bias"}),
      glm45(),
      solarOpen(),
      dots1(),
      exaoneMoe(),
      ernie45Moe(),
      graniteMoe("granitemoe"),
      graniteMoe("granitemoeshared"),
  };
}

ArrayRef<LlamaKind> llamaKinds() {
  static const std::vector<LlamaKind> kinds = [] {
    std::vector<LlamaKind> all;
    for (const auto &some : {firstKinds(), rmsKinds(), hybridKinds(), layerNormKinds(),
                             laterKinds(), mixtureKinds(), latentKinds()})
      all.insert(all.end(), some.begin(), some.end());
    return all;
  }();
  return kinds;
}

} // namespace attn::importer
