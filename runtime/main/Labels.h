// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What the classes of a model are called.
#ifndef ATTN_MAIN_LABELS_H
#define ATTN_MAIN_LABELS_H
#include "base/Vector.h"

namespace attn {

/// The names of classes, by their numbers.
class Labels {
public:
  /// Reads `id2label` (Hugging Face) or `label_names` (timm) of the config.json in a folder. Where
  /// there is no such file, or it does not name classes 0 to n - 1, there are none.
  void readFolder(const char *folder);
  /// Takes those that a program holds: `bytes` of names, a NUL behind each.
  void take(const char *text, size_t bytes);

  /// How many there are.
  int64_t size() const { return int64_t(starts.size()); }
  /// The name of a class, from 0 on.
  const char *name(int64_t number) const { return text.data() + starts[size_t(number)]; }
  /// All of them, a NUL behind each.
  const Vector<char> &all() const { return text; }

private:
  Vector<char> text;
  Vector<size_t> starts;
};

} // namespace attn
#endif
