// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Decoders in GPT's form: what one model's config.json says, and what its template is filled in
// with. Attention is read in GptAttention.cpp, the rest in Gpt.cpp.
#pragma once

#include "compiler/import/checkpoint/Families.h"
#include "compiler/import/checkpoint/GptKinds.h"
#include "compiler/import/checkpoint/Rope.h"

namespace attn::importer {

/// Fills the template in for one model.
class GptWriter {
public:
  GptWriter(FamilyWriter &writer, const GptKind &kind)
      : writer(writer), config(writer.config), kind(kind) {}
  /// Writes the spec; what is wrong with the config is left in it.
  void write();

private:
  /// Whether the family has a trait.
  bool is(GptTrait trait) const { return kind.traits & trait; }
  /// A size under the first of several names, which is there or `otherwise`; 0: it has to be there.
  int64_t sizeOf(llvm::StringRef keys, int64_t otherwise = 0);
  bool biasOf(const GptBias &bias) {
    return bias.key.empty() ? bias.otherwise : config.flag(bias.key, bias.otherwise);
  }
  void readSizes();
  void readEps();
  /// Tokens, and where they stand.
  void readEmbedding();
  /// The maps of queries, keys and values of `n`.
  void readMaps();
  /// The same, of heads that share keys.
  void readGroupedMaps(bool isOne);
  /// The same, one behind the other, as llama.cpp's converter lays them.
  void readRows(int64_t groups);
  /// Maps whose names have another letter each.
  void readApart(llvm::StringRef bias);
  /// What is made of queries and keys, and of scores.
  void readAttention();
  Rotation readRotation();
  /// How many positions there are, once it is known how they are turned.
  void chooseCapacity(const Rotation &rotation);
  void readMosaic();
  void readScore();
  void readSlopes();
  void readLocalLayers();
  /// The types of layers as `attention_types` has them; whether they have its form.
  bool readTypesOfLayers(int64_t layers, std::vector<std::string> &types);
  /// Where norms stand, and what they read.
  void readNorms();
  void readFalconNorms();
  void readResults();
  void readIgnored();
  void addHook(const std::string &line) { hooks += line + "\n"; }
  void addDim(const std::string &line) { dims += line + "\n"; }

  FamilyWriter &writer;
  Config &config;
  const GptKind &kind;
  TemplateValues values;
  std::string prefix, within; ///< of all names; of those of a layer's attention
  std::string dims, hooks, score;
  std::string query, key, value;
  std::string headNumber = "h", headIndices = "h";
  std::string first, second; ///< norms of a layer
  int64_t width = 0, heads = 0, features = 0, positions = 0, capacity = 0;
  double clip = 0;
  bool hasHead = false, hasSlopes = false, isBehind = false, isBeside = false;
};

} // namespace attn::importer
