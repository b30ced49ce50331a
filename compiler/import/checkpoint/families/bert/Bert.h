// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Encoders of text in BERT's form: what a family does otherwise than BERT, what it calls its
// tensors, and the writer of its spec. The families are rows of a table in Bert.cpp, heads are
// written in BertHeads.cpp.
#pragma once

#include "compiler/import/checkpoint/Families.h"

namespace attn::importer {

/// What a family does otherwise than BERT, added up.
enum BertTrait : unsigned {
  BehindPadding = 1 << 0,   ///< the first position is the one behind the number of the pad token
  OneSegment = 1 << 1,      ///< all tokens are of the first segment
  NoSegments = 1 << 2,      ///< no table of segments
  NormsInFront = 1 << 3,    ///< of attention and mlp, and another behind all layers
  PlainEmbeddings = 1 << 4, ///< no norm of the embeddings
  NarrowTokens = 1 << 5,    ///< embeddings have a width of their own, and a map to the layers'
  AlwaysWidened = 1 << 6,   ///< that map is there whatever the widths are
  SharedLayers = 1 << 7,    ///< all layers have the same parameters
  Distances = 1 << 8,       ///< scores have a bias by distance, as T5's
  MayDecode = 1 << 9,       ///< the class can be a decoder, which the importer refuses
  ShortKeys = 1 << 10,      ///< the config's keys are DistilBERT's
  FixedGelu = 1 << 11,      ///< the mlp has a gelu whatever the config says
  EsmEmbeddings = 1 << 12,  ///< positions, the norm and masked tokens are as the config says
  TaskSegments = 1 << 13,   ///< ERNIE's table of tasks, where the config has it
};

/// What a family calls the tensors of a layer.
struct BertLayerNames {
  llvm::StringRef query, key, value, out, attentionNorm, up, down, outNorm;
};

/// What a family calls the tensors that score the tokens of a vocabulary.
struct BertTokenHead {
  llvm::StringRef dense, norm, bias, decoder;
  bool isGelu; ///< in front of the norm, whatever the config says
};

/// What a family has between the first token's state and its classes: a map, and a function.
struct BertClassHead {
  llvm::StringRef dense, out, function; ///< without a map: that of the pooler
};

/// A family, with the published class's defaults of what a config may leave out.
struct BertKind {
  llvm::StringRef type, body; ///< model_type; the model's name within one that has a head
  unsigned traits;
  const BertLayerNames &layer;
  const BertTokenHead &tokens;
  const BertClassHead &classes;
  llvm::StringRef stack = "encoder.layer"; ///< of the layers
  llvm::StringRef lastNorm = "";           ///< behind them, where norms are in front
  llvm::StringRef widening = "";           ///< the map of embeddings to the width of layers
  llvm::StringRef act = "gelu";
  double eps = 1e-12;
  llvm::StringRef pooler = "pooler.dense";
};

/// Writes one encoder.
class BertWriter {
public:
  BertWriter(FamilyWriter &writer, const BertKind &kind)
      : writer(writer), config(writer.config), os(writer.os), kind(kind) {}
  /// Writes the spec; what is wrong with the config is left in it.
  void write();

private:
  /// Whether the family has a trait.
  bool is(BertTrait trait) const { return kind.traits & trait; }
  bool isTask(llvm::StringRef task) const { return writer.task == task; }
  /// The config's key of what BERT calls `key`.
  llvm::StringRef keyOf(llvm::StringRef key) const;
  void readSizes();
  void readPositions();
  void readEsm();
  void readSentence();
  /// How many numbers ColBERT gives for a token, by its map.
  int64_t vectorSize();
  void writeDims();
  void writeParameters();
  void writeEmbeddings();
  void writeIgnored();
  void writeLayer();
  void writeEntry();
  /// The statements of an entry that make `x` of tokens.
  void writeEmbedded();
  /// The mlp's activation of `x`.
  std::string activated(const std::string &x);

  // Heads, in BertHeads.cpp.
  /// The parameters of the head that the config names.
  void writeHeadParameters();
  /// Those that score the tokens of a vocabulary.
  void writeTokenHead();
  /// Those that score classes of a text.
  void writeClassHead();
  /// An entry's name, its results, and its statements behind `y`, the states of all tokens.
  llvm::StringRef entryName() const;
  std::string results() const;
  std::string headBody();
  std::string classScores() const;
  /// The scores of the vocabulary's tokens, as an expression of `y`.
  std::string tokenScores();
  /// Whether a matrix of one row lies as a vector, as in files of llama.cpp.
  bool isVector(const std::string &tensor) const;
  bool usesPooler() const;
  /// Whether the head tells which tokens another model has put in place of others.
  bool isDiscriminator() const { return kind.type == "electra" && isTask("ForPreTraining"); }

  /// The number of the first position.
  int64_t firstPosition() const { return is(BehindPadding) && !isRotary ? padding + 1 : 0; }
  /// The name of the embeddings' norm.
  std::string embeddingsNorm() const;
  /// What the axis of embeddings is called.
  llvm::StringRef narrow() const { return embedded == width ? "D" : "W"; }

  FamilyWriter &writer;
  Config &config;
  llvm::raw_ostream &os;
  const BertKind &kind;
  std::string prefix, eps;
  int64_t width = 0, embedded = 0, heads = 0, layers = 0, hidden = 0, tokens = 0, positions = 0,
          segments = 0, padding = 0, classes = 0, buckets = 0;
  int64_t maskToken = -1; ///< of ESM: the token whose embedding is left out
  double base = 0;        ///< of ESM's rotation
  bool hasPooler = false, isSentence = false, isRotary = false, hasNorm = true, isWidened = false,
       hasTasks = false, isColbert = false;
  std::string angles;         ///< the tensor of ESM's frequencies, where the folder has one
  bool takesSegments = false; ///< else all tokens are of the first, where there are any
  Sentence sentence;
};

} // namespace attn::importer
