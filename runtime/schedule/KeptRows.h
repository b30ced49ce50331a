// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows with the tokens that they hold, and those that no request works on, for prompts that begin
// in the same way (Zheng et al. 2024, "SGLang: Efficient Execution of Structured Language Model
// Programs").
#pragma once

#include "attn/rows.h"
#include "base/Vector.h"

namespace attn {

/// A row, and which tokens its caches hold, one for each position.
struct HeldRow {
  attn_row *row = nullptr;
  Vector<int32_t> tokens;
  int64_t bytes = 0; ///< of its caches
  int64_t used = 0;  ///< when it was last of use: a number that grows

  ~HeldRow() { attn_row_destroy(row); }
};

/// How many tokens two texts begin with alike.
int64_t commonTokens(const Vector<int32_t> &a, const Vector<int32_t> &b);

/// Rows that no request works on.
class KeptRows {
public:
  KeptRows() = default;
  KeptRows(const KeptRows &) = delete;
  KeptRows &operator=(const KeptRows &) = delete;
  ~KeptRows();

  /// Takes a row over; frees it where memory is lacking, or another one holds the same and more,
  /// and those that were of no use for longest where there are more than `most`: all of them are
  /// compared with a prompt.
  void add(HeldRow *row, int64_t now, size_t most);
  /// The one that begins with most of `tokens`, null where none has one of them.
  HeldRow *find(const Vector<int32_t> &tokens, int64_t &common);
  /// Gives up a row, which is the caller's then.
  void release(HeldRow *row);
  /// Frees the one that has been of no use for longest; false where there is none.
  bool drop();
  int64_t bytes() const;

private:
  Vector<HeldRow *> rows;
};

} // namespace attn
