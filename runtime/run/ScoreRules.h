// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// What may follow the tokens of a row, and what is made less likely, whichever way a token is
// chosen afterwards.
#pragma once

#include "attn/attn.h"
#include "base/Vector.h"

namespace attn {

/// Tokens side by side, which belong to somebody else.
struct TokenSpan {
  const int32_t *tokens = nullptr;
  int64_t count = 0;
};

/// Multiplies the scores of tokens where they are negative, each once, and divides others. `marks`
/// are as many zeros as scores, which they are again afterwards.
void penalise(const TokenSpan &tokens, float factor, float *scores, Vector<uint8_t> &marks);

/// The rules of a generation, in the order of Hugging Face's library: each sees the scores that the
/// one before has left.
class ScoreRules {
public:
  explicit ScoreRules(const attn_generation &numbers) : numbers(numbers) {}

  /// Makes room for a vocabulary; false where memory is lacking.
  bool prepare(int64_t vocabulary) { return marks.resize(size_t(vocabulary)); }
  /// Whether a rule looks at the tokens of a row, or at those of the source.
  bool readsRow() const;
  bool readsSource() const { return numbers.sourceRepetition != 1 || numbers.sourceNoRepeat > 0; }

  /// Changes the scores of what follows a row: of its `row.count` tokens, `chosen` were chosen, of
  /// `most`. `length` is how many all rows count as having, which may be more.
  void apply(const TokenSpan &row, const TokenSpan &source, int64_t chosen, int64_t most,
             int64_t length, float *scores, int64_t vocabulary);

private:
  /// Excludes the last token of each bad sequence whose others a row ends with.
  void excludeWords(const TokenSpan &row, float *scores, int64_t vocabulary) const;
  bool isStop(int64_t token) const;

  const attn_generation &numbers;
  Vector<uint8_t> marks; ///< by token
};

} // namespace attn
