// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// How queries and keys are turned, from the values of rope in a config.json.
#ifndef ATTN_COMPILER_IMPORT_FOLDER_ROPE_H
#define ATTN_COMPILER_IMPORT_FOLDER_ROPE_H

#include "compiler/import/folder/Config.h"

namespace attn::importer {

/// How queries and keys are turned: arguments of `rotary` behind the kind of pairs.
struct Rotation {
  double base = 10000;
  std::string scaling; ///< ", factor = 8, …"
  std::string slowing; ///< of YaRN and LongRoPE: by what pair `p` is slower, as a factor
  std::string rule;    ///< whose the factor is
  double strength = 1; ///< of these: what queries and keys are multiplied by
  /// Of LongRoPE: the most positions for which the short factors are, and 0 of others. The factor
  /// depends on `C`, the positions that there can be.
  int64_t shortLength = 0;
  bool operator==(const Rotation &other) const {
    return base == other.base && scaling == other.scaling && slowing == other.slowing;
  }
};

/// Reads rotations of a model whose heads turn `turnedFeatures` features, and which was trained on
/// `positions`. What is wrong is left in the config.
struct RopeReader {
  Config &config;
  int64_t turnedFeatures, positions;

  /// Of an object that holds rope's values, in either form of config.json; null: there is none.
  Rotation read(Config &inner, std::optional<double> base);
  /// The rule that the factors of a GGUF file come from.
  std::string scalingOf(const std::vector<double> &factors, double base);

private:
  /// YaRN's rule (Peng et al. 2023, "YaRN: Efficient Context Window Extension of Large Language
  /// Models"), of the values in `from`.
  void readYarn(Config &from, Rotation &own);
  /// LongRoPE's (Ding et al. 2024, "LongRoPE: Extending LLM Context Window Beyond 2 Million
  /// Tokens"): a factor for each pair, others for long texts than for short ones.
  void readLongRope(Config &from, Rotation &own);
};

} // namespace attn::importer

#endif // ATTN_COMPILER_IMPORT_FOLDER_ROPE_H
