// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Weights of ONNX files that are codes: those of a node MatMulNBits (com.microsoft, blocks of the
// inputs of a linear map) and of a DequantizeLinear (a scale for all or along an axis).
#pragma once

#include "io/Checkpoint.h"

namespace attn {

/// A node that makes numbers of codes.
struct OnnxCodes {
  bool isProduct = false; ///< MatMulNBits, whose codes are [columns, blocks, bytes of a block]
  const char *inputs[4] = {nullptr, nullptr, nullptr, nullptr}; ///< by name
  const char *output = nullptr;
  int64_t depth = 0, columns = 0, bits = 4, block = 0, axis = 1;
  StoredTensor codes = {}, scales = {}, zeros = {}; ///< without a name where there is none

  /// The part that an initializer of this name is; null where it is none.
  StoredTensor *partOf(const char *name);
};

/// The numbers, (code - zero) * scale, as f32: [columns, depth], or in the shape of the codes. They
/// go by the name of the codes, or by that of the node's output. ATTN_BAD_WEIGHTS, W0206, where
/// codes, scales and zeros do not fit. Nothing is made (`made` without a name) where the codes are
/// no tensor of the file.
attn_status decodeOnnxCodes(const OnnxCodes &node, Arena &arena, StoredTensor &made, Error &error);

} // namespace attn
