// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How queries and keys are turned, from the values of rope in a config.json.
#pragma once

#include "compiler/import/checkpoint/Config.h"

namespace attn::importer {

/// How queries and keys are turned: arguments of `rotary` behind the kind of pairs.
struct Rotation {
  double base = 10000;
  int64_t turned = 0;  ///< features of a head, the others stay as they are
  std::string scaling; ///< ", factor = 8, …"
  std::string slowing; ///< of YaRN and LongRoPE: by what pair `p` is slower, as a factor
  std::string rule;    ///< whose the factor is
  double strength = 1; ///< of these: what cosines and sines are multiplied by
  /// Of LongRoPE: the most positions for which the short factors are, and 0 of others. The factor
  /// depends on `C`, the positions that there can be.
  int64_t shortLength = 0;
  /// The turned `what`, whose pairs are `half` or `interleaved`. `table` is what its angles are
  /// called, where it has some, and `part` the dim of what it turns, where that is not all.
  std::string applied(llvm::StringRef what, llvm::StringRef pairs, llvm::StringRef table,
                      llvm::StringRef part) const;
  /// The line that declares its angles, of `size` features; empty where it needs none.
  std::string tableLine(llvm::StringRef name, llvm::StringRef size) const;
  /// Turns the other way round.
  void turnBack();
  bool operator==(const Rotation &other) const {
    return base == other.base && turned == other.turned && scaling == other.scaling &&
           slowing == other.slowing && strength == other.strength;
  }
};

/// Reads rotations of a model whose heads have `features` features, and which was trained on
/// `positions`. What is wrong is left in the config.
struct RopeReader {
  Config &config;
  int64_t features, positions;
  bool hasParts = false; ///< `partial_rotary_factor` is read; a scaling of angles reads it, too
  bool yarnIsLongRope = false; ///< as Phi-3's class takes the name
  /// What the published class says of `original_max_position_embeddings` beside the values of rope
  /// where a config says nothing there; 0: nothing.
  int64_t original = 0;
  /// What the config itself calls the turned part of a head, and which it is where nothing is said.
  llvm::StringRef partKey = "partial_rotary_factor";
  double part = 1;

  /// Of `inner`, which holds rope's values in either form of config.json, perhaps none. What it
  /// does not say stands in the config: the base under `baseKey`, else it is `otherwise`.
  Rotation read(Config &inner, llvm::StringRef baseKey, double otherwise);
  /// The rule that the factors of a GGUF file come from.
  std::string scalingOf(const std::vector<double> &factors, double base);

private:
  /// What the angles of the pairs are powers of.
  double readBase(Config &inner, llvm::StringRef baseKey, double otherwise);
  /// The rule of the angles, by its name.
  static std::string typeOf(Config &inner);
  /// How many features of a head are turned.
  int64_t readPart(Config &inner);
  /// The positions that angles were learnt of: what stands beside the values of rope counts before
  /// what stands in them, as in the published library.
  int64_t originalOf(Config &inner);
  bool isOriginalBeside() const;
  /// The rule of the angles, by its type.
  void readScaling(Config &inner, Rotation &own);
  /// Llama 3's rule where its two factors are one: pairs are slow or they are not, as in Llama 4.
  void readSteps(Config &from, Rotation &own);
  /// YaRN's rule (Peng et al. 2023, "YaRN: Efficient Context Window Extension of Large Language
  /// Models"), of the values in `from`.
  void readYarn(Config &from, Rotation &own);
  /// LongRoPE's (Ding et al. 2024, "LongRoPE: Extending LLM Context Window Beyond 2 Million
  /// Tokens"): a factor for each pair, others for long texts than for short ones.
  void readLongRope(Config &from, Rotation &own);
};

} // namespace attn::importer
