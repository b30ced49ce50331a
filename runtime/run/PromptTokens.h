// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The tokens that an entry which generates is given: those that its rows go on from, or a source.
#pragma once

#include "attn/abi.h"
#include "base/Error.h"
#include "run/ScoreRules.h"

namespace attn {

/// Whether an input may be rows of tokens: integers along two axes.
inline bool takesTokens(const attn_abi_tensor &input) {
  return (input.dtype == ATTN_I32 || input.dtype == ATTN_I64) && input.rank == 2;
}

/// Whether an input says how long each row is.
inline bool takesLengths(const attn_abi_tensor &input) {
  return input.dtype == ATTN_I32 && input.rank == 1 && strcmp(input.name, "lengths") == 0;
}

/// Rows of tokens, copied out of the inputs of a call.
class PromptTokens {
public:
  /// Reads the first input of rows of tokens, as far as `lengths` says, where the entry takes it,
  /// and puts `held` in front of each row. An entry without such an input has no tokens.
  attn_status read(const attn_abi_entry &entry, int32_t inputCount, const attn_tensor *inputs,
                   int64_t rows, const TokenSpan &held, Error &error);

  /// The tokens of a row; none where the entry takes none.
  TokenSpan row(int64_t row) const {
    return size == 0 ? TokenSpan() : TokenSpan{tokens.data() + row * size, counts[size_t(row)]};
  }
  /// What all rows have room for.
  int64_t length() const { return size; }

private:
  int64_t size = 0;
  Vector<int32_t> tokens; ///< [rows, size]
  Vector<int64_t> counts;
};

} // namespace attn
