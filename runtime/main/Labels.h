// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the classes of a model are called.
#pragma once

#include "attn/attn.h"
#include "base/Vector.h"

namespace attn {

/// The names of classes, by their numbers.
class Labels {
public:
  /// Reads `id2label` (Hugging Face) or `label_names` (timm) of the config.json in a folder, and
  /// what its scores mean. Where there is no such file, or it does not name classes 0 to n - 1,
  /// there are none.
  void readFolder(const char *folder);
  /// Takes those that a program holds: `bytes` of names, a NUL behind each, and what their scores
  /// are printed as (ATTN_LABELS_*).
  void take(const char *text, size_t bytes, int32_t function);

  /// What scores are printed as, as the published pipelines do it (ATTN_LABELS_*): numbers of a
  /// regression as they are; a sigmoid of each where several labels may hold at once, or there is
  /// one; else a softmax. Of one label, what its cross-encoder says comes first.
  int32_t function() const { return kind; }
  /// How many there are.
  int64_t size() const { return int64_t(starts.size()); }
  /// The name of a class, from 0 on.
  const char *name(int64_t number) const { return text.data() + starts[size_t(number)]; }
  /// All of them, a NUL behind each.
  const Vector<char> &all() const { return text; }

private:
  Vector<char> text;
  Vector<size_t> starts;
  int32_t kind = 0;
};

/// A class and its score, as the model's scores mean it (Labels::function): a probability, or a
/// number of a regression.
struct RankedLabel {
  int64_t number;
  double value;
};

/// How many labels are shown of a row of scores.
constexpr int mostRanked = 5;

/// The most probable classes of a row of scores, one for each label, which begins at element
/// `begin`; how many there are.
int rankLabels(const attn_tensor &scores, int64_t begin, const Labels &labels,
               RankedLabel (&best)[mostRanked]);

} // namespace attn
