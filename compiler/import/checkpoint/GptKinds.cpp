// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The families of decoders in GPT's form: a row for each, which says what differs from GPT-2.
//
//   Radford et al. 2018, "Improving Language Understanding by Generative Pre-Training" (GPT)
//   Radford et al. 2019, "Language Models are Unsupervised Multitask Learners" (GPT-2)
//   Keskar et al. 2019, "CTRL: A Conditional Transformer Language Model for Controllable
//   Generation" Black et al. 2021, "GPT-Neo"; Wang and Komatsuzaki 2021, "GPT-J-6B" Lin et al.
//   2021, "Few-shot Learning with Multilingual Language Models" (XGLM) Black et al. 2022,
//   "GPT-NeoX-20B: An Open-Source Autoregressive Language Model" Zhang et al. 2022, "OPT: Open
//   Pre-trained Transformer Language Models" Luo et al. 2022, "BioGPT: Generative Pre-trained
//   Transformer for Biomedical Text Generation" Nijkamp et al. 2022, "CodeGen: An Open Large
//   Language Model for Code" BigScience Workshop 2022, "BLOOM: A 176B-Parameter Open-Access
//   Multilingual Language Model" Ben Allal et al. 2023, "SantaCoder"; Li et al. 2023, "StarCoder"
//   (GPT-BigCode) Almazrouei et al. 2023, "The Falcon Series of Open Language Models" MosaicML
//   2023, "MPT-7B"; Elsen et al. 2023, "Persimmon-8B" Press et al. 2021, "Train Short, Test Long"
//   (ALiBi)
#include "compiler/import/checkpoint/GptKinds.h"
#include "llvm/ADT/STLExtras.h"
#include <vector>

using namespace llvm;

namespace attn::importer {

GptKind &GptKind::with(unsigned more) {
  traits |= more;
  return *this;
}

GptKind &GptKind::withPlaces(GptPlaces which, double ofPart) {
  places = which, part = ofPart;
  return *this;
}

GptKind &GptKind::withMaps(GptMaps which, StringRef name) {
  maps = which, names.maps = name;
  return *this;
}

GptKind &GptKind::withKeys(const GptKeys &own) {
  keys = own;
  return *this;
}

GptKind &GptKind::withNames(const GptNames &own) {
  names = own;
  return *this;
}

GptKind &GptKind::withAct(StringRef name) {
  act = name;
  return *this;
}

GptKind &GptKind::withEps(double number) {
  eps = number;
  return *this;
}

GptKind &GptKind::withHead(bool tied) {
  isTied = tied;
  return *this;
}

GptKind &GptKind::withBiases(GptBias ofMaps, GptBias ofOut, GptBias ofMlp) {
  mapBias = ofMaps, outBias = ofOut, mlpBias = ofMlp;
  return *this;
}

using Where = GptPlaces;
using Packing = GptMaps;

constexpr GptBias hasNone = {"", false}, biasIfSaid = {"bias", false},
                  biasUnlessSaid = {"attention_bias", true}, biasIfEnabled = {"enable_bias", true};
constexpr GptNames jNames = {"transformer.",  "wte",       "",           "h",
                             "ln_f",          "ln_1",      "",           "attn.*_proj",
                             "attn.out_proj", "mlp.fc_in", "mlp.fc_out", "lm_head"},
                   neoNames = {"transformer.",
                               "wte",
                               "wpe",
                               "h",
                               "ln_f",
                               "ln_1",
                               "ln_2",
                               "attn.attention.*_proj",
                               "attn.attention.out_proj",
                               "mlp.c_fc",
                               "mlp.c_proj",
                               "lm_head"},
                   megatronNames = {"transformer.",
                                    "word_embeddings",
                                    "",
                                    "h",
                                    "ln_f",
                                    "input_layernorm",
                                    "post_attention_layernorm",
                                    "self_attention.query_key_value",
                                    "self_attention.dense",
                                    "mlp.dense_h_to_4h",
                                    "mlp.dense_4h_to_h",
                                    "lm_head"},
                   neoxNames = {"gpt_neox.",
                                "embed_in",
                                "",
                                "layers",
                                "final_layer_norm",
                                "input_layernorm",
                                "post_attention_layernorm",
                                "attention.query_key_value",
                                "attention.dense",
                                "mlp.dense_h_to_4h",
                                "mlp.dense_4h_to_h",
                                "embed_out"},
                   persimmonNames = {"model.",
                                     "embed_tokens",
                                     "",
                                     "layers",
                                     "final_layernorm",
                                     "input_layernorm",
                                     "post_attention_layernorm",
                                     "self_attn.query_key_value",
                                     "self_attn.dense",
                                     "mlp.dense_h_to_4h",
                                     "mlp.dense_4h_to_h",
                                     "lm_head"},
                   mptNames = {"transformer.", "wte",           "",
                               "blocks",       "norm_f",        "norm_1",
                               "norm_2",       "attn.Wqkv",     "attn.out_proj",
                               "ffn.up_proj",  "ffn.down_proj", "lm_head"},
                   firstNames = {"transformer.", "tokens_embed", "positions_embed", "h", ""},
                   ctrlNames = {"transformer.",
                                "w",
                                "",
                                "h",
                                "layernorm",
                                "layernorm1",
                                "layernorm2",
                                "multi_head_attention.W*",
                                "multi_head_attention.dense",
                                "ffn.0",
                                "ffn.2",
                                "lm_head"},
                   fairNames = {"model.",
                                "embed_tokens",
                                "embed_positions",
                                "layers",
                                "layer_norm",
                                "self_attn_layer_norm",
                                "final_layer_norm",
                                "self_attn.*_proj",
                                "self_attn.out_proj",
                                "fc1",
                                "fc2",
                                "lm_head"};
constexpr GptKeys bertKeys = {
    "hidden_size",       "num_attention_heads", "num_hidden_layers", "max_position_embeddings",
    "intermediate_size", "hidden_act",          "layer_norm_eps"};
constexpr GptKeys ofWords(StringRef width, StringRef heads, StringRef layers, StringRef positions,
                          StringRef hidden, StringRef act, StringRef eps) {
  return {width, heads, layers, positions, hidden, act, eps};
}

/// OPT's names with another beginning, or another name of the head.
static GptNames fairseq(StringRef prefix, StringRef last = "layer_norm",
                        StringRef head = "lm_head") {
  GptNames names = fairNames;
  names.prefix = prefix, names.last = last, names.head = head;
  return names;
}

/// GPT's own, and those that keep its names.
static std::vector<GptKind> earlyGpts() {
  return {
      GptKind("openai-gpt", "GPT")
          .with(Conv1d | NormsBehind | NoLastNorm | NewGeluName)
          .withNames(firstNames)
          .withKeys(ofWords("n_embd", "n_head", "n_layer", "n_positions", "", "afn",
                            "layer_norm_epsilon")),
      GptKind("gpt2", "GPT2").with(Conv1d | ScaledIfSaid | ScaledByLayer | FourTimes),
      GptKind("gpt_bigcode", "GPTBigCode")
          .with(ScaledIfSaid | FourTimes)
          .withMaps(Packing::OneKey, "attn.c_attn")
          .withAct("gelu_pytorch_tanh"),
      GptKind("gpt_neo", "GPTNeo")
          .with(Unscaled | LocalLayers | FourTimes)
          .withNames(neoNames)
          .withMaps(Packing::Apart, "attn.attention.*_proj")
          .withKeys(ofWords("hidden_size", "num_heads", "num_layers", "max_position_embeddings",
                            "intermediate_size", "activation_function", "layer_norm_epsilon"))
          .withBiases(hasNone),
      GptKind("gptj", "GPTJ")
          .with(Beside | TokenBias | FourTimes)
          .withNames(jNames)
          .withPlaces(Where::TurnedNeighbours)
          .withMaps(Packing::Apart, "attn.*_proj")
          .withBiases(hasNone, hasNone)
          .withHead(false),
      GptKind("codegen", "CodeGen")
          .with(Beside | TokenBias | FourTimes)
          .withNames(jNames)
          .withPlaces(Where::TurnedNeighbours)
          .withMaps(Packing::ByQuarter, "attn.qkv_proj")
          .withBiases(hasNone, hasNone)
          .withHead(false),
      GptKind("ctrl", "CTRL")
          .with(TokensScaled | TokenBias | EpsOfLast)
          .withNames(ctrlNames)
          .withPlaces(Where::Sines)
          .withMaps(Packing::Apart, "multi_head_attention.W*")
          .withKeys(ofWords("n_embd", "n_head", "n_layer", "n_positions", "dff", "",
                            "layer_norm_epsilon"))
          .withAct("relu")
          .withEps(1e-6),
  };
}

/// Those that came of other libraries' models.
static std::vector<GptKind> laterGpts() {
  return {
      GptKind("opt", "OPT")
          .with(TokensMapped | NormsBehindUnlessSaid)
          .withNames(fairseq("model.decoder.", "final_layer_norm"))
          .withPlaces(Where::LearntBehindPadding)
          .withMaps(Packing::Apart, "self_attn.*_proj")
          .withKeys(ofWords("hidden_size", "num_attention_heads", "num_hidden_layers",
                            "max_position_embeddings", "ffn_dim", "activation_function", ""))
          .withAct("relu")
          .withBiases(biasIfEnabled, biasIfEnabled, biasIfEnabled),
      GptKind("xglm", "XGLM")
          .with(TokensScaledIfSaid)
          .withNames(fairseq("model."))
          .withPlaces(Where::SinesBehindPadding)
          .withMaps(Packing::Apart, "self_attn.*_proj")
          .withKeys(ofWords("d_model", "attention_heads", "num_layers", "max_position_embeddings",
                            "ffn_dim", "activation_function", ""))
          .withAct("gelu"),
      GptKind("biogpt", "BioGPT")
          .with(TokensScaledIfSaid)
          .withNames(fairseq("biogpt.", "layer_norm", "output_projection"))
          .withPlaces(Where::LearntBehindPadding)
          .withMaps(Packing::Apart, "self_attn.*_proj")
          .withKeys(ofWords("hidden_size", "num_attention_heads", "num_hidden_layers",
                            "max_position_embeddings", "intermediate_size", "hidden_act", ""))
          .withAct("gelu"),
      GptKind("gpt_neox", "GPTNeoX")
          .with(BesideIfSaid)
          .withNames(neoxNames)
          .withPlaces(Where::Turned, 0.25)
          .withMaps(Packing::ByHead, "attention.query_key_value")
          .withKeys(bertKeys)
          .withAct("gelu")
          .withBiases(biasUnlessSaid, biasUnlessSaid)
          .withHead(false),
      GptKind("persimmon", "Persimmon")
          .with(HeadsNormed)
          .withNames(persimmonNames)
          .withPlaces(Where::Turned, 0.5)
          .withMaps(Packing::ByHead, "self_attn.query_key_value")
          .withKeys(bertKeys)
          .withAct("relu2")
          .withHead(false),
      GptKind("bloom", "Bloom")
          .with(EmbeddingNormed | NormedStream)
          .withNames(megatronNames)
          .withPlaces(Where::Slopes)
          .withMaps(Packing::ByHead, "self_attention.query_key_value")
          .withKeys(ofWords("hidden_size|n_embed", "n_head|num_attention_heads",
                            "n_layer|num_hidden_layers", "", "", "", "layer_norm_epsilon")),
      GptKind("falcon", "Falcon")
          .with(BesideByKeys | FourTimes)
          .withNames(megatronNames)
          .withPlaces(Where::TurnedOrSlopes)
          .withMaps(Packing::ByGroup, "self_attention.query_key_value")
          .withKeys(ofWords("hidden_size|n_embed", "num_attention_heads|n_head",
                            "num_hidden_layers|n_layer", "max_position_embeddings",
                            "ffn_hidden_size", "activation", "layer_norm_epsilon"))
          .withAct("gelu")
          .withBiases(biasIfSaid, biasIfSaid, biasIfSaid),
      GptKind("mpt", "MPT")
          .with(NoNormBias | Mosaic)
          .withNames(mptNames)
          .withPlaces(Where::Slopes)
          .withMaps(Packing::ByPart, "attn.Wqkv")
          .withKeys(ofWords("d_model", "n_heads", "n_layers", "max_seq_len", "", "",
                            "layer_norm_epsilon"))
          .withAct("gelu")
          .withBiases(hasNone, hasNone, hasNone),
  };
}

ArrayRef<GptKind> gptKinds() {
  static const std::vector<GptKind> kinds = [] {
    std::vector<GptKind> all = earlyGpts();
    for (const GptKind &kind : laterGpts())
      all.push_back(kind);
    return all;
  }();
  return kinds;
}

const GptKind *gptKind(StringRef type) {
  const GptKind *kind =
      llvm::find_if(gptKinds(), [&](const GptKind &one) { return one.type == type; });
  return kind == gptKinds().end() ? nullptr : kind;
}

} // namespace attn::importer
