// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// NumPy's .npy files.
#pragma once

#include "io/File.h"

namespace attn {

/// Reads a NumPy file (format 1 to 3; little-endian f2, f4, f8, i4, i8, u1, b1; C order) of which
/// `bytes` are the contents; `tensor.data` points into them. ATTN_BAD_INPUT with what is wrong.
attn_status readNpy(Vector<char> &bytes, const char *label, attn_tensor &tensor, Error &error);

/// Appends what a NumPy file of format 1 has before the elements of a tensor; false where memory is
/// lacking.
bool appendNpyHeader(const attn_tensor &tensor, Text &file);

/// Writes a tensor as a NumPy file of format 1, whole or not at all. NumPy has no bf16: it is
/// widened to f4.
attn_status writeNpy(const char *path, const attn_tensor &tensor, Error &error);

} // namespace attn
