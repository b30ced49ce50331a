// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Rows of tokens, i32 or i64 with any strides, copied side by side.
#include "run/PromptTokens.h"
#include "base/Tensor.h"

using namespace attn;

/// Element [row, column] of a tensor of integers, or [row].
static int64_t integerAt(const attn_tensor &tensor, int64_t row, int64_t column) {
  int64_t at = tensor.strides ? row * tensor.strides[0] : row;
  if (tensor.rank > 1)
    at = tensor.strides ? at + column * tensor.strides[1] : row * tensor.shape[1] + column;
  return tensor.dtype == ATTN_I64 ? static_cast<const int64_t *>(tensor.data)[at]
                                  : static_cast<const int32_t *>(tensor.data)[at];
}

attn_status PromptTokens::read(const attn_abi_entry &entry, int32_t inputCount,
                               const attn_tensor *inputs, int64_t rows, const TokenSpan &held,
                               Error &error) {
  const attn_tensor *given = nullptr, *lengths = nullptr;
  for (int32_t i = 0; i < inputCount; ++i) {
    const attn_abi_tensor &known = entry.inputs[i];
    if (known.state || (takesTokens(known) && inputs[i].shape[0] != rows))
      continue;
    bool isTokens = !given && takesTokens(known), isLengths = takesLengths(known);
    if ((isTokens || isLengths) && isOnDevice(inputs[i]))
      return error.set(ATTN_INVALID_ARGUMENT, "R0101",
                       "entry `%s`: rules over tokens need input `%s` in host memory", entry.name,
                       known.name);
    given = isTokens ? inputs + i : given;
    lengths = isLengths ? inputs + i : lengths;
  }
  if (!given)
    return ATTN_OK;
  int64_t own = given->shape[1];
  size = held.count + own;
  if (!tokens.resize(size_t(rows * size)) || !counts.resize(size_t(rows)))
    return error.outOfMemory("the tokens of a prompt");
  for (int64_t row = 0; row < rows; ++row) {
    int32_t *to = tokens.data() + row * size;
    for (int64_t i = 0; i < held.count; ++i)
      to[i] = held.tokens[i];
    for (int64_t i = 0; i < own; ++i)
      to[held.count + i] = int32_t(integerAt(*given, row, i));
    int64_t length = lengths ? integerAt(*lengths, row, 0) : own;
    counts[size_t(row)] = held.count + (length < 0 ? 0 : length > own ? own : length);
  }
  return ATTN_OK;
}
