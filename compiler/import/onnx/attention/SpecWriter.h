// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// An Attention operator -> the spec that a person would have written for it:
//
//   bias given(i, j) with input attn_mask: f32[T, S] = attn_mask[i.row, j.row]
//   entry attention(Q: f32[B, H, T, E], …) -> Y: f32[B, H, T, F], present_key: f32[B, G, S, E] {
//     let k = pack(S, past_key, K)
//     let y = attend Q over k, V along S group H by G {
//       bias given
//       mask j <= i + P
//     }
//     return y, k
//   }
#pragma once

#include "compiler/import/SpecNames.h"
#include "compiler/import/onnx/attention/OnnxAttention.h"
#include "llvm/Support/raw_ostream.h"
#include <map>

namespace attn::importer {

/// Writes the spec of one attention. It is used once.
class SpecWriter {
public:
  explicit SpecWriter(const OnnxAttention &attention) : attention(attention), os(text) {}
  /// The text of the spec, not formatted yet.
  std::string write();

private:
  /// The axes of a tensor, as the spec calls them.
  using Shape = llvm::SmallVector<std::string, 4>;

  //===-- SpecWriter.cpp: names, sizes, the entry -------------------------------------------===//
  /// Finds names for inputs and dims that hide no name of the language.
  void chooseNames();
  /// Finds which axis of the operator each axis of the mask is.
  void chooseMaskShape();
  /// Writes the lines `dim`.
  void writeDims();
  /// Writes the entry: inputs, results, body.
  void writeEntry();
  /// Writes the body of the entry.
  void writeBody();
  /// Writes one `attend`, whose values get the names `values`.
  void writeAttend(llvm::StringRef result, llvm::ArrayRef<std::string> values,
                   llvm::ArrayRef<std::string> lines);
  /// The axes of an input, as they are called where it comes in.
  Shape shapeOf(AttentionInput input) const;
  std::string typeOf(OnnxType type, const Shape &shape) const;
  /// Where one tensor is the query and the keys, its axes get the names of the second.
  std::string relabelled(AttentionInput input) const;
  /// A query's, key's or value's tensor with the heads on an axis of their own.
  std::string perHead(AttentionInput input) const;
  const std::string &nameOf(AttentionInput input) const;
  bool shares(AttentionInput a, AttentionInput b) const;

  //===-- SpecHooks.cpp: what `attend` does with a pair -------------------------------------===//
  /// Writes the hooks of the score, with a cap in front of the bias.
  void writeScores();
  /// Writes the hook that reads the mask's tensor.
  void writeMaskTensor();
  /// Writes the hook that reads the lengths of keys.
  void writeLengths();
  /// Writes the hook that gives dropped pairs the score -inf.
  void writeDropped();
  /// The lines of `attend`; empty where there is none.
  std::string biasLine() const;
  std::string maskLine() const;
  std::string returnLine() const;
  llvm::SmallVector<std::string> attendLines() const;
  /// The cap stands before the bias in the operator, after it in `attend`.
  bool capsInScore() const;
  /// Scores are wanted with -inf where the mask drops a pair.
  bool dropsInScores() const;
  /// Scores are wanted as they were before the score capped them.
  bool needsRawScores() const;

  const OnnxAttention &attention;
  SpecNames names;
  std::map<std::string, std::string> inputNames; ///< The file's -> the spec's.
  /// Dims. `fresh` counts the keys of K, `keys` the past ones with them, `masked` those that the
  /// mask covers, where they are fewer.
  std::string batch, heads, groups, queries, past, fresh, keys, features, valueFeatures, masked;
  std::string score, rawScore, bias, allowed, valid, dropped; ///< Hooks; empty: there is none.
  /// What masks read of tensors: the formula, and the input with its type.
  llvm::SmallVector<std::pair<std::string, std::string>> tensorTerms;
  Shape maskShape;
  llvm::SmallVector<std::string> ones; ///< Axes of the mask of one element.
  std::string text;
  llvm::raw_string_ostream os;
};

} // namespace attn::importer
