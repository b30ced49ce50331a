// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Families of decoders in GPT's form, with layer norms: what a row of their table says. Gpt.cpp
// writes their specs, and GgufNames.cpp takes the names of their tensors from it.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>

namespace attn::importer {

/// What a family does otherwise than others of this form, added up.
enum GptTrait : unsigned {
  Conv1d = 1 << 0,                ///< matrices are [in, out]
  TokensScaled = 1 << 1,          ///< embeddings times the root of their width
  TokensScaledIfSaid = 1 << 2,    ///< likewise, with scale_embedding, which is true by default
  EmbeddingNormed = 1 << 3,       ///< a norm of the embeddings
  TokensMapped = 1 << 4,          ///< word_embed_proj_dim may be another width than the layers'
  NormsBehind = 1 << 5,           ///< of what was added
  NormsBehindUnlessSaid = 1 << 6, ///< likewise, without do_layer_norm_before
  NormedStream = 1 << 7, ///< with apply_residual_connection_post_layernorm sums start normed
  NoLastNorm = 1 << 8,
  NoNormBias = 1 << 9,
  Beside = 1 << 10,        ///< attention and mlp read the same normed rows
  BesideIfSaid = 1 << 11,  ///< with use_parallel_residual each reads by a norm of its own
  BesideByKeys = 1 << 12,  ///< Falcon's parallel_attn, new_decoder_architecture
  Unscaled = 1 << 13,      ///< scores are not divided by the root of the features
  ScaledIfSaid = 1 << 14,  ///< they are, with scale_attn_weights
  ScaledByLayer = 1 << 15, ///< also by the number of the layer, if the config says so
  LocalLayers = 1 << 16,   ///< attention_types says which layers have a window
  HeadsNormed = 1 << 17,   ///< qk_layernorm: a norm of each head
  TokenBias = 1 << 18,     ///< scores of tokens have a bias
  Mosaic = 1 << 19,        ///< attn_config says of attention, logit_scale of scores
  NewGeluName = 1 << 20,   ///< `gelu` is the one of a tanh
  FourTimes = 1 << 22,     ///< the mlp is four times as wide where the config does not say
  EpsOfLast = 1 << 21,     ///< the config says that of the last norm alone
};

/// Where a token stands is told by:
enum class GptPlaces {
  Learnt,
  LearntBehindPadding, ///< the first rows are of padding: position 0 is row 2
  Sines,               ///< in the first half of the features, and cosines
  SinesBehindPadding,  ///< likewise, from 2 on, with another step
  Turned,              ///< queries and keys, by halves
  TurnedNeighbours,    ///< the first rotary_dim features, by pairs of neighbours
  Slopes,              ///< ALiBi: the farther a key, the less
  TurnedOrSlopes,      ///< as `alibi` says
};

/// How the maps of queries, keys and values lie.
enum class GptMaps {
  Apart,
  ByPart,    ///< one behind the other
  ByHead,    ///< head by head
  ByQuarter, ///< in four parts of the heads: queries, values, keys
  OneKey,    ///< one head of keys and of values, with multi_query; else head by head
  ByGroup,   ///< Falcon's: the queries of a head of keys, its keys, its values
};

/// What a config calls sizes; the first of several names that is there counts.
struct GptKeys {
  llvm::StringRef width = "n_embd", heads = "n_head", layers = "n_layer", positions = "n_positions",
                  hidden = "n_inner", act = "activation_function", eps = "layer_norm_epsilon";
};

/// The names of tensors.
struct GptNames {
  llvm::StringRef prefix = "transformer."; ///< in a model with a head
  llvm::StringRef tokens = "wte", positions = "wpe", layers = "h", last = "ln_f";
  llvm::StringRef first = "ln_1",
                  second = "ln_2"; ///< norms; the second is empty where there is one
  /// The packed map, or the maps with `*` for the letter.
  llvm::StringRef maps = "attn.c_attn", out = "attn.c_proj", up = "mlp.c_fc", down = "mlp.c_proj",
                  head = "lm_head";
};

/// Biases of some linears: a key says, or they are there, or not.
struct GptBias {
  llvm::StringRef key = ""; ///< empty: no config says
  bool otherwise = true;    ///< where it does not say
};

/// A family. A row of the table is GPT-2's with what differs.
struct GptKind {
  GptKind(llvm::StringRef type, llvm::StringRef model) : type(type), model(model) {}
  llvm::StringRef type, model; ///< `model_type`, and the name in the spec
  unsigned traits = 0;
  GptPlaces places = GptPlaces::Learnt;
  GptMaps maps = GptMaps::ByPart;
  GptKeys keys;
  GptNames names;
  llvm::StringRef act = "gelu_new"; ///< where the config does not say, or no config does
  double eps = 1e-5;
  double part = 1; ///< of a head that is turned, where the config does not say
  bool isTied = true;
  GptBias mapBias, outBias, mlpBias;

  /// Adds traits.
  GptKind &with(unsigned more);
  /// What tells where a token stands.
  GptKind &withPlaces(GptPlaces which, double ofPart = 1);
  /// How the maps lie, and their name.
  GptKind &withMaps(GptMaps which, llvm::StringRef name);
  /// What the config calls sizes.
  GptKind &withKeys(const GptKeys &own);
  /// The names of tensors.
  GptKind &withNames(const GptNames &own);
  /// The activation of the class.
  GptKind &withAct(llvm::StringRef name);
  /// The number of the class's norms.
  GptKind &withEps(double number);
  /// Whether scores are made by the embedding.
  GptKind &withHead(bool tied);
  /// Which linears have biases.
  GptKind &withBiases(GptBias ofMaps, GptBias ofOut = {}, GptBias ofMlp = {});
};

/// All families in this form.
llvm::ArrayRef<GptKind> gptKinds();

/// The family of a `model_type`; null where it is not of this form.
const GptKind *gptKind(llvm::StringRef type);

} // namespace attn::importer
