// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decoders in Llama's form: what one model's config.json says, and the writer of its spec. The
// values are read in LlamaConfig.cpp, a layer is written in LlamaLayer.cpp, the model around it in
// Llama.cpp.
#pragma once

#include "compiler/import/checkpoint/Eyes.h"
#include "compiler/import/checkpoint/Families.h"
#include "compiler/import/checkpoint/LlamaKinds.h"
#include "compiler/import/checkpoint/Rope.h"
#include "compiler/import/checkpoint/families/llama/Mixer.h"

namespace attn::importer {

/// Writes the norms of a family.
class LlamaNorms {
public:
  /// `addedOne`: the weights of the file are those plus 1.
  LlamaNorms(LlamaNorm kind, bool addedOne) : kind(kind), addedOne(addedOne) {}
  /// The lines that declare norms of an axis; those without a name are left out.
  std::string declared(llvm::ArrayRef<llvm::StringRef> names, llvm::StringRef axis,
                       double eps) const;
  /// `x`, normed; `x` itself where the norm has no name.
  std::string of(llvm::StringRef name, const std::string &x) const;

private:
  /// Whether 1 + weight and a bias stand beside a bare norm, `…_plain`.
  bool isApart() const { return kind == LlamaNorm::OnePlusLayer && !addedOne; }

  LlamaNorm kind;
  bool addedOne;
};

/// What a config.json says of one model. What is wrong with it is left in it.
class LlamaConfig {
public:
  LlamaConfig(FamilyWriter &writer, const LlamaKind &kind)
      : writer(writer), config(writer.config), os(writer.os), kind(kind),
        norms(kind.norm, writer.folder.addedOne) {}
  /// Reads all that a spec needs.
  void read();

protected:
  /// Whether the family has a trait.
  bool is(LlamaTrait trait) const { return (kind.traits & trait) != 0; }
  /// Whether some layers, or all, have states.
  bool hasStates() const { return !mixer.states.empty(); }
  /// Whether layers with a window turn otherwise than those that see all.
  bool turnsByLayer() const;
  /// What the activation of the family makes of `x`.
  std::string activated(llvm::StringRef x) const;

  FamilyWriter &writer;
  Config &config;
  llvm::raw_ostream &os;
  const LlamaKind &kind;
  LlamaNorms norms;
  LlamaPlaces places; ///< of norms, in this model
  std::string prefix, lastNorm;
  int64_t width = 0, heads = 0, groups = 0, features = 0, layers = 0, hidden = 0, tokens = 0,
          positions = 0, capacity = 0, experts = 0, chosen = 0,
          sharedHidden = 0, ///< of the expert of all rows; 0: there is none
      denseHidden = 0,      ///< of layers without experts, where others have some
      latentWidth = 0;      ///< what rows are mapped to before experts; 0: nothing
  /// How many positions back, and ahead where tokens see both ways, a layer with a window sees; 0
  /// where there is none, or it hides nothing.
  int64_t reach = 0;
  double eps = 0, queryScale = 0, cap = 0, lastCap = 0, clip = 0;
  double tokenScale = 1, residualScale = 1, lastScale = 1; ///< `lastScale` of scores of tokens
  double routedScale = 1;                                  ///< of the weights of experts
  double keyScale = 1, attentionInScale = 1, attentionOutScale = 1, mixerScale = 1, gateScale = 1,
         downScale = 1; ///< of parts of a layer
  /// What residuals and what is added to them are multiplied by: of attention, mixers, the mlp.
  double alphas[3] = {1, 1, 1}, betas[3] = {1, 1, 1};
  double temper = 0, temperLength = 0; ///< of queries: how much they grow, each how many positions
  LlamaHeadNorm headNorm = LlamaHeadNorm::None;
  bool hasBias = false, hasOutBias = false, hasMlpBias = false, hasHeadBias = false;
  bool isTied = false;
  bool isParallel = false;
  bool turnsNeighbours = false; ///< the pairs that turn are neighbours
  bool isCorrected = false;     ///< the chances of experts, where they are sigmoids
  bool isXielu = false;         ///< the activation has learnt slopes
  bool seesBothWays = false;
  bool isHalfWindow = false; ///< sliding_window counts those on both sides
  bool isEncoder = false;    ///< without a cache
  bool hasHead = false;
  bool isAllWindowed = false; ///< and no layer sees all
  Sentence sentence;          ///< empty where the folder is no sentence encoder's
  LlamaLatent latent;         ///< of this model
  int64_t expertGroups = 1, chosenGroups = 1;
  std::string act;
  std::vector<bool> isFull;      ///< of each layer; empty: all layers are alike
  std::vector<bool> isTurned;    ///< likewise; empty: all turn, or none does
  std::vector<bool> isAttending; ///< likewise; empty: all attend
  std::vector<bool> isRouted;    ///< likewise; empty: all have experts, or none has
  std::vector<bool> isMixing;    ///< where each layer is one part: whether that is a mixer
  bool hasDense = false;         ///< likewise: whether some are a feed-forward without experts
  LayerMixer mixer;              ///< of those that do not attend
  bool turnsNone = false;
  Rotation rotation, windowed; ///< of full layers, of those with a window
  std::optional<Eyes> eyes;    ///< where it takes pictures

private:
  /// Sizes, biases, and what scores are scaled and capped by.
  void readSizes();
  /// The width of LFM2's feed-forward: two thirds of what is said, times a number, made a multiple.
  void adjustWidth();
  /// What each layer is, where it is one part.
  void readParts();
  /// How the width is shared out among heads.
  void readHeads();
  /// The same of heads whose keys and values are latent.
  void readLatent();
  /// What scores of these are scaled by, once it is known how they are turned: by `rope`, too.
  void scaleLatent(Config &rope);
  void readExpertGroups();
  void readBiases();
  /// What embeddings, results and scores are multiplied by, and capped by.
  void readScales();
  /// What residuals are multiplied by, as MiniMax has them.
  void readResidualScales();
  /// The same of each part of a layer, as Falcon H1 has them.
  void readPartScales();
  void readExperts();
  /// Which layers have experts, where not all do.
  void readRouted();
  /// Whether tokens see what comes behind them.
  void readDirections();
  /// How many positions there are, once it is known how they are turned.
  void chooseCapacity();
  void readLayers();
  /// Which layers have a mixer in the place of attention, and which it is.
  void readMixers();
  /// Which layers see all, where they are not alike.
  void readKindsOfLayers(int64_t window);
  /// Which layers turn, where not all do.
  void readTurns(int64_t window);
  void readRotations();
  /// How the model takes pictures.
  void readPictures();
  /// What a family makes of the values of rope beside the angles.
  void readTempering(Config &from);
};

/// Writes the feed-forward of a layer: one for all rows, or experts.
class LlamaFeedForward : protected LlamaConfig {
public:
  using LlamaConfig::LlamaConfig;

protected:
  /// The parameters of a layer without blocks of its own for them.
  void writeMlp();
  /// What the feed-forward makes of `x`; the same without experts.
  std::string mlpOf(llvm::StringRef x);
  std::string denseMlpOf(llvm::StringRef x);
  /// The blocks of both kinds of feed-forward, where some layers have experts.
  void writeFeedForwards();
  void writeDenseBlock(llvm::StringRef size);
  void writeRoutedBlock();
  /// One of the experts that a row is routed to.
  void writeExpert();
  /// The experts of each row, and their weights.
  void writeRouting(llvm::StringRef m);

private:
  /// Whether gate and up are one tensor, which llama.cpp takes apart for some families.
  bool isPackedMlp() const;
  /// The parameters of one for all rows, of an axis, and of experts.
  void declareDenseMlp(llvm::StringRef size);
  void writeExperts();
  /// GPT-OSS's expert, whose gate and map stand row by row in one tensor.
  void writeGptOssExpert();
  /// What the expert of all rows makes of `x`.
  std::string sharedOf(llvm::StringRef x) const;
  void writeSparseMixer(llvm::StringRef scores);
  /// Leaves out experts of groups that are not chosen, of what `ranked` says.
  std::string writeGroups(llvm::StringRef ranked);
};

/// Writes one model: a decoder with a cache, or an encoder of texts where tokens see both ways or
/// the folder is a sentence encoder's.
class LlamaWriter : private LlamaFeedForward {
public:
  using LlamaFeedForward::LlamaFeedForward;
  /// Writes the spec; what is wrong with the config is left in it.
  void write();

private:
  /// The model around its entries; its dims.
  void writeModel();
  void writeDims();
  /// The lines that say which tensors are left out.
  void writeIgnored();
  /// What runs a decoder, or an encoder.
  void writeEntries();
  void writeEncoderEntries(llvm::StringRef states);
  /// Those of a decoder that takes pictures, and its blocks, of which one takes what is `given`.
  void writePictureEntries();
  void writeTextBlocks(llvm::StringRef given);
  /// Tokens as the first layer takes them.
  std::string embeddedTokens(llvm::StringRef ids) const;
  /// Whether positions are given, by time, row and column.
  bool isPlaced() const { return eyes && !eyes->kindOfPair.empty(); }
  /// ", phase, more", what layers take of pictures; the same as a block takes it.
  std::string pictureNames() const;
  std::string pictureParameters() const;
  /// The entries of a decoder with states, whose layers give what is `made`.
  void writeMixedEntries(llvm::StringRef made);
  /// The statements that make scores of states.
  std::string scoresOf(llvm::StringRef states) const;
  void writeLayer();
  void writeAttention();
  /// What the tensors of attention are; the tables that it reads.
  void declareAttention();
  void writeTables();
  /// The statements of attention over `n`, and what they give.
  std::string attended(llvm::StringRef n);
  void writeLatentDims();
  bool areMapsApart() const;
  void declareLatent();
  std::string attendedLatent(llvm::StringRef n);
  /// The block of layers with attention, and that of the others, where both stand apart.
  void writeMixers();
  void writeAttentionBlock();
  /// A residual and what is made of it, added up.
  std::string weighed(llvm::StringRef kept, const std::string &made, size_t part) const;
  /// A layer that is one part.
  void writeOnePart();
  /// Writes what a layer's mixer makes of `n`, or attention, or both, and gives its name.
  std::string writeMixed(const std::string &n);
  void writeProjections();
  void writeHeadNorms();
  /// Queries or keys of `n`: projected, normed, turned, in the order of the family.
  void writeTurned(llvm::StringRef name, const std::string &map, llvm::StringRef norm);
  /// `made`, turned as the layer says.
  std::string turnedByLayer(llvm::StringRef name, const std::string &made);
  /// Writes what the mlp reads, and gives its name.
  std::string writeMlpInput();
  /// The result of a layer, with the rows that pictures give it, where it is one of the first.
  std::string withDeepRows(const std::string &made) const;
  /// What is added to the residual stream.
  std::string result(llvm::StringRef norm, const std::string &made) const;
  /// What the stack gives its layers: "(seen = …)", or nothing where they are alike.
  std::string layerArguments() const;
  /// Of a layer that sees all of what it may, or of one with a window.
  std::string maskOf(bool isWindowed) const;
  /// Where a row of a picture may see others of it in such a layer: tiles elsewhere are left out.
  std::string nearOf(bool isWindowed) const;
  std::string mask() const;
  /// `what`, turned by a rotation whose table, where it has one, is called `table`.
  std::string turned(llvm::StringRef what, const Rotation &own, llvm::StringRef table,
                     llvm::StringRef features) const;
};

} // namespace attn::importer
