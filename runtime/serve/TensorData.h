// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Elements of tensors as numbers of JSON, row by row or nested, and back, to the bit.
#pragma once

#include "attn/attn.h"
#include "base/Text.h"

namespace attn {

/// The bytes of a dense tensor.
size_t tensorBytes(const attn_tensor &tensor);

/// Fills a tensor, whose memory is there, from an array of JSON at `text`: all elements row by row,
/// or nested as its shape is. `text` has a NUL behind its `size` bytes. False where it is something
/// else; `problem` says where.
bool readTensorData(const char *text, size_t size, attn_tensor &tensor, Text &problem);

/// Appends all elements, row by row, such that reading them gives the same bits. False where one is
/// NaN or infinite; `problem` says which.
bool writeTensorData(const attn_tensor &tensor, Text &text, Text &problem);

} // namespace attn
