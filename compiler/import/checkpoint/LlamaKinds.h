// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Families of decoders in Llama's form: what a row of their table says. llama/ writes their specs,
// and GgufNames.cpp takes the names of their tensors from it.
#pragma once

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"
#include <cstdint>
#include <utility>
#include <vector>

namespace attn::importer {

/// What a family does otherwise than Llama, added up.
enum LlamaTrait : uint64_t {
  ScaledTokens = 1 << 0,     ///< embeddings times the root of their width
  Packed = 1 << 1,           ///< queries, keys and values in one tensor
  Tied = 1 << 2,             ///< the embedding for the output, too, where the config does not say
  QueryScalar = 1 << 3,      ///< scores by query_pre_attn_scalar, and caps, where they are said
  LocalBase = 1 << 4,        ///< layers with a window turn by a base of their own
  WindowIfAsked = 1 << 5,    ///< a window only with use_sliding_window
  Sinks = 1 << 6,            ///< a score for each head that no key has
  TypedLayers = 1 << 7,      ///< layer_types says which layers have a window
  LastWindowed = 1 << 8,     ///< else those from max_window_layers on
  PartsOfHeads = 1 << 9,     ///< partial_rotary_factor is read: a part of a head is turned
  YarnIsLongRope = 1 << 10,  ///< as Phi-3's class takes the name
  OptionalWindow = 1 << 11,  ///< none where the config does not say
  Neighbours = 1 << 12,      ///< the pairs that turn are neighbours
  Parallel = 1 << 13,        ///< the mlp reads what attention reads, and both are added at once
  ParallelIfAsked = 1 << 14, ///< likewise, with use_parallel_residual
  Multipliers = 1 << 15,     ///< of embeddings, results, scores of keys and of tokens: Granite's
  LogitScale = 1 << 16,      ///< scores of tokens times logit_scale
  OnlyNearTurn = 1 << 17,    ///< layers that see all do not turn, where there is a window
  OnlySaidTurn = 1 << 18,    ///< no_rope_layers says which layers turn, else all but each fourth
  Clipped = 1 << 19,         ///< queries, keys and values are at most clip_qkv
  Tempered = 1 << 20,        ///< queries grow with their positions, by llama_4_scaling_beta
  DepthScaled = 1 << 21,     ///< what layers add is scaled by their number: MiniCPM's scales
  AlphaBase = 1 << 22,       ///< `alpha` of the type `dynamic` makes the base another
  FirstWindowed = 1 << 23,   ///< a window only before layer max_window_layers
  FullScaling = 1 << 24,     ///< rope_scaling is of the layers that see all
  FullFirst = 1 << 25,       ///< of each so many layers the first has no window, not the last
  SubNorms = 1 << 26,        ///< norms in front of the maps back to the width
  FinalCap = 1 << 27,        ///< a cap of scores of tokens alone
  TokensNormed = 1 << 28,    ///< the last norm stands in front of the layers, too
  TurnsBack = 1 << 29,       ///< the other way round
  LogitsTimes = 1 << 30,     ///< logits_scaling multiplies
  NormsBehindIfSaid = 1U << 31,   ///< norms behind only with use_post_norm
  GatedHeads = uint64_t(1) << 32, ///< what heads give is weighted; the weights stand behind queries
  NeighboursUnlessSaid = uint64_t(1) << 33, ///< the pairs that turn are, by rope_interleave
  AdjustedWidth = uint64_t(1) << 34, ///< of the feed-forward, as LFM2 makes it of intermediate_size
  TieEmbedding = uint64_t(1) << 35,  ///< tie_embedding counts before tie_word_embeddings
  TurnsIfSaid = uint64_t(1) << 36,   ///< only where position_embedding_type is `rope`
  PartMultipliers = uint64_t(1) << 37, ///< of each part of a layer, and of embeddings and scores
  OnePart = uint64_t(1) << 38,         ///< a layer is attention, a mixer, a feed-forward or experts
  NeverTurns = uint64_t(1) << 39,      ///< positions are nowhere
  NeverTied = uint64_t(1) << 40,       ///< whatever tie_word_embeddings says
  NormedResidual = uint64_t(1) << 41,  ///< what is normed is added to, times numbers of the config
};

/// The norms of a layer and behind the last one.
enum class LlamaNorm {
  Rms,
  OnePlusRms,   ///< times 1 + weight
  BareRms,      ///< without weight
  Layer,        ///< with a bias
  OnePlusLayer, ///< likewise, times 1 + weight
  NoBias,       ///< of a layer norm
  Bare,         ///< a layer norm without weight and bias
};

/// What is normed of queries and keys.
enum class LlamaHeadNorm {
  None,
  Each,   ///< a head by itself, all with the same weights
  Own,    ///< a head by itself, each with its own weights
  All,    ///< all heads as one row
  Turned, ///< a head by itself, behind the rotation
};

/// What some layers have in the place of attention.
enum class LlamaMixer {
  None,
  DeltaNet,
  PackedDeltaNet,   ///< queries, keys, values and gates of a head in one tensor
  ShortConvolution, ///< LFM2's
  Mamba,            ///< Mamba 2, as Bamba and Granite 4 have it
  FalconMamba,      ///< the same beside attention, with multipliers
  PureMamba,        ///< the same without anything else
  Selective,        ///< Mamba, the first
  NormedSelective,  ///< Falcon Mamba
  JambaSelective,   ///< Jamba's
  Lightning,        ///< MiniMax's
  NemotronMamba,    ///< the same, where a layer is one part
};

/// How the feed-forward gets from the width to its own and back.
enum class LlamaMlp {
  Gated,
  Packed, ///< gate and up in one tensor
  Plain,  ///< without a gate
};

/// Biases of some linears: a key says, or they are there, or not.
struct LlamaBias {
  llvm::StringRef key = ""; ///< empty: no config says
  bool otherwise = false;   ///< where it does not say
};

/// Biases by the keys that most classes have, and such that are always there.
inline constexpr LlamaBias always = {"", true}, ifAsked = {"attention_bias"},
                           unlessAsked = {"attention_bias", true}, mlpIfAsked = {"mlp_bias"},
                           usedIfAsked = {"use_bias"}, usedUnlessAsked = {"use_bias", true};

/// What the norms of a layer are called, by where they stand; empty where there is none.
struct LlamaPlaces {
  llvm::StringRef beforeAttention = "input_layernorm", behindAttention = "",
                  beforeMlp = "post_attention_layernorm", behindMlp = "";
};

/// What a mixture of experts is called in the tensors and in the config.
struct LlamaExperts {
  llvm::StringRef name, gate, up, down, countKey, hiddenKey;
  bool sharesSum;                  ///< the weights of the chosen sum up to 1, whatever is said
  bool isGptOss = false;           ///< gate and up in one tensor, row by row; both are clamped
  llvm::StringRef router = "gate"; ///< what scores them
  llvm::StringRef shared = "";     ///< an expert of all rows, weighted by the map `SHARED_gate`
  llvm::StringRef sharedKey = "";  ///< how wide that is
  bool isSharedWeighted = true;    ///< else it is simply added
  llvm::StringRef chosenKey = "num_experts_per_tok";
  /// What is added to the chances of experts where they are chosen, and not where they weigh:
  /// chances are then sigmoids. Empty: they are a softmax.
  llvm::StringRef correction = "";
  bool sharesOtherwise = false; ///< the weights sum up to 1 where norm_topk_prob is not said
  bool isGranite = false; ///< gate and up in one tensor, one behind the other; so is the shared one
  llvm::StringRef denseKey = ""; ///< how many layers in front have none; empty: no key says
  int64_t dense = 0;             ///< the same where the config does not say
  llvm::StringRef scaleKey = ""; ///< what their weights are multiplied by
  double scale = 1;              ///< the same where the config does not say
  bool countsShared = false;     ///< sharedKey is how many experts wide the one of all rows is
  /// Experts of some groups alone can be chosen. How many groups there are, and how many of them
  /// count, where the config does not say.
  int64_t groups = 1, chosenGroups = 1;
  bool groupsByBest = false;       ///< a group counts as its best expert does, else as its best two
  bool areChancesShared = false;   ///< a softmax, though they are corrected
  bool isCorrectionOneRow = false; ///< a matrix of one row
  bool isSparseMixer = false; ///< an expert's weight is its share among those whose scores are near
  llvm::StringRef leastKey = ""; ///< the least that weights are divided by; empty: any
  /// Which layers have experts: each so many, up to one that is said; empty: no key says a last.
  llvm::StringRef stepKey = "decoder_sparse_step", lastKey = "";
  llvm::StringRef correctionKey = ""; ///< whether chances are corrected; empty: they are
  llvm::StringRef latentKey = "";     ///< a width that rows are mapped to before experts
  /// Which layers have experts: each so many, from one on; empty: other keys say. One expert is a
  /// feed-forward without any.
  llvm::StringRef periodKey = "", offsetKey = "";
  int64_t sharedOtherwise = 0; ///< of sharedKey, where nothing is said
  double leastSum = 0;         ///< added to the sum that weights are divided by
  bool isTurned = false;       ///< packed experts are stored as [in, out]
};

/// Attention whose keys and values are maps of one short row for each token: the lengths of the
/// published class. A key's features that turn are the same in all heads.
struct LlamaLatent {
  int64_t ofQueries = 0; ///< the length of the row that queries are maps of; 0: of the token itself
  int64_t ofKeys = 0;    ///< of keys and values; 0: there is no such row
  int64_t plain = 0, turned = 0; ///< features of a head of keys that do not turn, and that do
  int64_t values = 0;            ///< features of a head of values
};

/// A name of a tensor as the writer of Llama's form has it, and what the family calls it.
using LlamaName = std::pair<llvm::StringRef, llvm::StringRef>;

/// A family, with the published class's defaults of what a config may leave out. A row of the table
/// is Llama's with what differs: `LlamaKind("qwen2").withBiases({"", true})`.
struct LlamaKind {
  explicit LlamaKind(llvm::StringRef type) : type(type) {}
  llvm::StringRef type;
  uint64_t traits = 0;
  llvm::StringRef act = "silu", actKey = "hidden_act"; ///< no key: the class has one of its own
  const LlamaExperts *experts = nullptr;
  double base = 10000, part = 1; ///< of angles; of a head that is turned
  double eps = 1e-6;
  llvm::StringRef epsKey = "rms_norm_eps"; ///< empty: the class has a number of its own
  int64_t features = 0;                    ///< of a head; 0: as many as are of the width
  int64_t groups = 0;                      ///< heads of keys; 0: as many as of queries
  int64_t window = 0;                      ///< 0: none
  int64_t fullEvery = 0;     ///< each so many layers one without a window; 0: all layers are alike
  int64_t windowedFrom = 28; ///< the first with a window, of LastWindowed or FirstWindowed
  double cap = 0, lastCap = 0;
  LlamaNorm norm = LlamaNorm::Rms;
  LlamaPlaces places;
  LlamaHeadNorm headNorm = LlamaHeadNorm::None;
  llvm::StringRef queryNorm = "q_norm", keyNorm = "k_norm";
  llvm::StringRef headNormKey = ""; ///< the key that says whether there are any; empty: there are
  LlamaMixer mixer = LlamaMixer::None;
  LlamaLatent latent;
  LlamaBias inputBias, outBias, mlpBias, headBias; ///< the last of scores of tokens
  LlamaMlp mlp = LlamaMlp::Gated;
  llvm::StringRef up = "up_proj", down = "down_proj", out = "o_proj", lastNorm = "norm";
  llvm::ArrayRef<LlamaName>
      names; ///< other names of tensors; a list that lives as long as the table

  /// The same as another family.
  LlamaKind as(llvm::StringRef name) const;
  LlamaKind &with(uint64_t more);
  LlamaKind &withExperts(const LlamaExperts &own);
  LlamaKind &withAngles(double ofBase, double ofPart = 1);
  LlamaKind &withHeads(int64_t ofFeatures, int64_t ofKeys = 0);
  LlamaKind &withWindow(int64_t size, int64_t layersPerFull = 0);
  LlamaKind &withCaps(double ofKeys, double ofTokens);
  LlamaKind &withNorms(LlamaNorm which, double ofEps = 1e-5, llvm::StringRef key = "rms_norm_eps");
  LlamaKind &withPlaces(const LlamaPlaces &names);
  LlamaKind &withHeadNorms(LlamaHeadNorm which, llvm::StringRef queries = "q_norm",
                           llvm::StringRef keys = "k_norm", llvm::StringRef asked = "");
  LlamaKind &withBiases(LlamaBias input, LlamaBias output = {}, LlamaBias ofMlp = {});
  LlamaKind &withHeadBias(LlamaBias ofTokens);
  LlamaKind &withMlp(LlamaMlp which, llvm::StringRef activation = "silu",
                     llvm::StringRef first = "up_proj", llvm::StringRef second = "down_proj");
  LlamaKind &withMixer(LlamaMixer which);
  LlamaKind &withLatent(const LlamaLatent &lengths);
  LlamaKind &withNames(llvm::StringRef output, llvm::StringRef last);
  LlamaKind &withOwnNames(llvm::ArrayRef<LlamaName> own);
  LlamaKind &withActKey(llvm::StringRef key);
};

/// Those whose keys and values are latent, which is a table of its own.
std::vector<LlamaKind> latentKinds();
/// Those some of whose layers are recurrences.
std::vector<LlamaKind> hybridKinds();

/// All families in this form.
llvm::ArrayRef<LlamaKind> llamaKinds();

/// The family of a `model_type`; null where it is not of this form.
const LlamaKind *llamaKind(llvm::StringRef type);

} // namespace attn::importer
