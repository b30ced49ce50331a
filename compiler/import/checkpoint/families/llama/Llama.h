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
  InputBias = 1 << 0,       ///< of queries, keys and values, whatever the config says
  HeadNorms = 1 << 1,       ///< an rms norm of each head's queries and keys
  OnePlusNorms = 1 << 2,    ///< norms multiply by 1 + weight
  ScaledTokens = 1 << 3,    ///< embeddings times the root of their width
  FourNorms = 1 << 4,       ///< behind attention and mlp, too
  Packed = 1 << 5,          ///< queries, keys and values in one tensor, gate and up in another
  Tied = 1 << 6,            ///< the embedding for the output, too, where the config does not say
  QueryScalar = 1 << 7,     ///< scores by query_pre_attn_scalar, and caps, where they are said
  LocalBase = 1 << 8,       ///< layers with a window turn by a base of their own
  WindowIfAsked = 1 << 9,   ///< a window only with use_sliding_window
  Sinks = 1 << 10,          ///< a score for each head that no key has
  TypedLayers = 1 << 11,    ///< layer_types says which layers have a window
  LastWindowed = 1 << 12,   ///< else those from max_window_layers on
  PartsOfHeads = 1 << 13,   ///< partial_rotary_factor is read: a part of a head is turned
  YarnIsLongRope = 1 << 14, ///< as Phi-3's class takes the name
  OptionalWindow = 1 << 15, ///< none where the config does not say
  BiasIfAsked = 1 << 16,    ///< of attention, with attention_bias
  MlpBiasIfAsked = 1 << 17, ///< of the mlp, with mlp_bias
};

/// What a mixture of experts is called in the tensors and in the config.
struct LlamaExperts {
  llvm::StringRef name, gate, up, down, countKey, hiddenKey;
  bool sharesSum;                  ///< the weights of the chosen sum up to 1, whatever is said
  bool isGptOss = false;           ///< gate and up in one tensor, row by row; both are clamped
  llvm::StringRef router = "gate"; ///< what scores them
};

/// A family, with the published class's defaults of what a config may leave out.
struct LlamaKind {
  llvm::StringRef type;
  unsigned traits = 0;
  llvm::StringRef act = "silu";
  int64_t fullEvery = 0; ///< each so many layers one without a window; 0: all layers are alike
  const LlamaExperts *experts = nullptr;
  double base = 10000, eps = 1e-6;
  int64_t features = 0; ///< of a head; 0: as many as are of the width
  int64_t window = 0;   ///< 0: none
  double cap = 0, lastCap = 0;
  int64_t groups = 0; ///< heads of keys; 0: as many as of queries
};

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
  /// Biases that are there though the config does not say so.
  void readGivenBiases();
  void readExperts();
  /// Whether tokens see what comes behind them.
  void readDirections();
  /// How many positions there are, once it is known how they are turned.
  void chooseCapacity();
  void readLayers();
  /// Which layers see all, where they are not alike.
  void readKindsOfLayers();
  void readRotations();
  void writeModel();
  void writeDims();
  /// The lines that say which tensors are left out.
  void writeIgnored();
  /// What runs a decoder, or an encoder.
  void writeEntries();
  void writeEncoderEntries(llvm::StringRef states);
  /// The statements that make scores of states.
  std::string scoresOf(llvm::StringRef states) const;
  void writeLayer();
  void writeAttention();
  void writeProjections();
  void writeTable(const Rotation &own, llvm::StringRef name, llvm::StringRef turned);
  void writeMlp();
  /// What the feed-forward makes of `m`.
  std::string mlpOf();
  void writeExpert();
  void writeGptOssExpert();
  /// The map that scores experts.
  std::string router() const;
  std::string norms(llvm::StringRef names, llvm::StringRef axis) const;
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
  double eps = 0, queryScale = 0, cap = 0, lastCap = 0;
  bool hasBias = false, hasOutBias = false, hasMlpBias = false, isTied = false;
  bool seesBothWays = false;
  bool isHalfWindow = false; ///< sliding_window counts those on both sides
  bool isEncoder = false;    ///< without a cache
  bool hasHead = false;
  bool isAllWindowed = false; ///< and no layer sees all
  Sentence sentence;          ///< empty where the folder is no sentence encoder's
  std::string act;
  std::vector<bool> isFull;    ///< of each layer; empty: all layers are alike
  Rotation rotation, windowed; ///< of full layers, of those with a window
};

} // namespace attn::importer
