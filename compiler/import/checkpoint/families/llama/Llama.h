// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decoders in Llama's form: what a family does otherwise than Llama, what one model's config.json
// says, and the writer of its spec. The values are read in LlamaConfig.cpp, a layer is written in
// LlamaLayer.cpp, the model around it in Llama.cpp.
#pragma once

#include "compiler/import/checkpoint/Families.h"
#include "compiler/import/checkpoint/Rope.h"

namespace attn::importer {

/// What a family does otherwise than Llama, added up.
enum LlamaTrait : unsigned {
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
  ParallelIfAsked = 1 << 23, ///< likewise, with use_parallel_residual
  Multipliers = 1 << 14,     ///< of embeddings, results, scores of keys and of tokens: Granite's
  LogitScale = 1 << 15,      ///< scores of tokens times logit_scale
  OnlyNearTurn = 1 << 16,    ///< layers that see all do not turn, where there is a window
  OnlySaidTurn = 1 << 17,    ///< no_rope_layers says which layers turn, else all but each fourth
  Clipped = 1 << 18,         ///< queries, keys and values are at most clip_qkv
  Tempered = 1 << 19,        ///< queries grow with their positions, by llama_4_scaling_beta
  HeadBias = 1 << 20,        ///< scores of tokens have a bias
  AlphaBase = 1 << 21,       ///< `alpha` of the type `dynamic` makes the base another
  FullScaling = 1 << 22,     ///< rope_scaling is of the layers that see all
};

/// The norms of a layer and behind the last one.
enum class LlamaNorm {
  Rms,
  OnePlusRms,   ///< times 1 + weight
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
};

/// A family, with the published class's defaults of what a config may leave out. A row of the table
/// is Llama's with what differs: `LlamaKind("qwen2").withBiases({"", true})`.
struct LlamaKind {
  explicit LlamaKind(llvm::StringRef type) : type(type) {}
  llvm::StringRef type;
  unsigned traits = 0;
  llvm::StringRef act = "silu";
  const LlamaExperts *experts = nullptr;
  double base = 10000, part = 1; ///< of angles; of a head that is turned
  double eps = 1e-6;
  llvm::StringRef epsKey = "rms_norm_eps"; ///< empty: the class has a number of its own
  int64_t features = 0;                    ///< of a head; 0: as many as are of the width
  int64_t groups = 0;                      ///< heads of keys; 0: as many as of queries
  int64_t window = 0;                      ///< 0: none
  int64_t fullEvery = 0; ///< each so many layers one without a window; 0: all layers are alike
  double cap = 0, lastCap = 0;
  LlamaNorm norm = LlamaNorm::Rms;
  LlamaPlaces places;
  LlamaHeadNorm headNorm = LlamaHeadNorm::None;
  llvm::StringRef queryNorm = "q_norm", keyNorm = "k_norm";
  llvm::StringRef headNormKey = ""; ///< the key that says whether there are any; empty: there are
  LlamaBias inputBias, outBias, mlpBias;
  LlamaMlp mlp = LlamaMlp::Gated;
  llvm::StringRef up = "up_proj", down = "down_proj", out = "o_proj", lastNorm = "norm";

  /// The same as another family.
  LlamaKind as(llvm::StringRef name) const;
  LlamaKind &with(unsigned more);
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
  LlamaKind &withMlp(LlamaMlp which, llvm::StringRef activation = "silu",
                     llvm::StringRef first = "up_proj", llvm::StringRef second = "down_proj");
  LlamaKind &withNames(llvm::StringRef output, llvm::StringRef last);
};

/// All families in this form.
llvm::ArrayRef<LlamaKind> llamaKinds();

/// Writes one model: a decoder with a cache, or an encoder of texts where tokens see both ways or
/// the folder is a sentence encoder's.
class LlamaWriter {
public:
  LlamaWriter(FamilyWriter &writer, const LlamaKind &kind)
      : writer(writer), config(writer.config), os(writer.os), kind(kind) {}
  /// Writes the spec; what is wrong with the config is left in it.
  void write();

private:
  /// Whether the family has a trait.
  bool is(LlamaTrait trait) const { return kind.traits & trait; }
  /// Sizes, biases, and what scores are scaled and capped by.
  void readSizes();
  /// How the width is shared out among heads.
  void readHeads();
  void readBiases();
  /// Biases that are there though the config does not say so.
  void readGivenBiases();
  /// What embeddings, results and scores are multiplied by, and capped by.
  void readScales();
  void readExperts();
  /// Whether tokens see what comes behind them.
  void readDirections();
  /// How many positions there are, once it is known how they are turned.
  void chooseCapacity();
  void readLayers();
  /// Which layers see all, where they are not alike.
  void readKindsOfLayers(int64_t window);
  /// Which layers turn, where not all do.
  void readTurns(int64_t window);
  void readRotations();
  /// What a family makes of the values of rope beside the angles.
  void readTempering(Config &from);
  void writeModel();
  void writeDims();
  /// The lines that say which tensors are left out.
  void writeIgnored();
  /// What runs a decoder, or an encoder.
  void writeEntries();
  void writeEncoderEntries(llvm::StringRef states);
  std::string lastNorm() const;
  /// The statements that make scores of states.
  std::string scoresOf(llvm::StringRef states) const;
  void writeLayer();
  void writeAttention();
  void writeProjections();
  void writeTable(const Rotation &own, llvm::StringRef name, llvm::StringRef turned);
  void writeMlp();
  /// What the feed-forward makes of `x`.
  std::string mlpOf(llvm::StringRef x);
  void writeExpert();
  void writeGptOssExpert();
  /// The map that scores experts.
  std::string router() const;
  /// Declares norms of an axis.
  void writeNorms(llvm::ArrayRef<llvm::StringRef> names, llvm::StringRef axis);
  /// `x`, normed; `x` itself where the norm has no name.
  std::string normed(llvm::StringRef name, const std::string &x) const;
  void writeHeadNorms();
  /// Queries or keys of `n`: projected, normed, turned, in the order of the family.
  void writeTurned(llvm::StringRef name, const std::string &map, llvm::StringRef norm);
  /// `made`, turned as the layer says.
  std::string turnedByLayer(llvm::StringRef name, const std::string &made);
  /// `x`, within clip_qkv, where the config says one.
  std::string clipped(const std::string &x) const;
  /// Writes what the mlp reads, and gives its name.
  std::string writeMlpInput();
  /// The experts of each row, and their weights.
  void writeRouting(llvm::StringRef m);
  /// What is added to the residual stream.
  std::string result(llvm::StringRef norm, const std::string &made) const;
  /// Whether layers with a window turn otherwise than those that see all.
  bool turnsByLayer() const;
  /// What the stack gives its layers: "(seen = …)", or nothing where they are alike.
  std::string layerArguments() const;
  /// Of a layer that sees all of what it may, or of one with a window.
  std::string maskOf(bool isWindowed) const;
  std::string mask() const;
  /// `what`, turned by a rotation whose table, where it has one, is called `table`.
  std::string turned(llvm::StringRef what, const Rotation &own, llvm::StringRef table,
                     llvm::StringRef features) const;

  FamilyWriter &writer;
  Config &config;
  llvm::raw_ostream &os;
  const LlamaKind &kind;
  std::string prefix;
  int64_t width = 0, heads = 0, groups = 0, features = 0, layers = 0, hidden = 0, tokens = 0,
          positions = 0, capacity = 0, experts = 0, chosen = 0;
  /// How many positions back, and ahead where tokens see both ways, a layer with a window sees; 0
  /// where there is none, or it hides nothing.
  int64_t reach = 0;
  double eps = 0, queryScale = 0, cap = 0, lastCap = 0, clip = 0;
  double tokenScale = 1, residualScale = 1, lastScale = 1; ///< `lastScale` of scores of tokens
  double temper = 0, temperLength = 0; ///< of queries: how much they grow, each how many positions
  LlamaHeadNorm headNorm = LlamaHeadNorm::None;
  bool hasBias = false, hasOutBias = false, hasMlpBias = false, isTied = false;
  bool isParallel = false;
  bool seesBothWays = false;
  bool isHalfWindow = false; ///< sliding_window counts those on both sides
  bool isEncoder = false;    ///< without a cache
  bool hasHead = false;
  bool isAllWindowed = false; ///< and no layer sees all
  Sentence sentence;          ///< empty where the folder is no sentence encoder's
  std::string act;
  std::vector<bool> isFull;   ///< of each layer; empty: all layers are alike
  std::vector<bool> isTurned; ///< likewise; empty: all turn, or none does
  bool turnsNone = false;
  Rotation rotation, windowed; ///< of full layers, of those with a window
};

} // namespace attn::importer
