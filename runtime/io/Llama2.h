// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Checkpoints of llama2.c, version 0: seven numbers of 32 bits, then the tensors in f32 in the
// order of its run.c. The names are those of Llama's own code.
#pragma once

#include "base/Arena.h"
#include "base/Error.h"

namespace attn {

struct StoredTensor;

/// The numbers at the beginning.
struct Llama2Header {
  int32_t width, hidden, layers, heads, keyHeads;
  int32_t tokens; ///< negative where the output has weights of its own
  int32_t length;

  /// Whether the output has the weights of the embedding.
  bool isTied() const { return tokens > 0; }
};

/// Whether a file of `size` bytes that begins with the 28 of `start` is such a checkpoint: its size
/// is what the numbers say.
bool isLlama2(const char *start, uint64_t size, Llama2Header &header);

/// Appends the tensors of such a file; names go into `arena`.
attn_status readLlama2Tensors(const Llama2Header &header, const char *label, Arena &arena,
                              Vector<StoredTensor> &tensors, Error &error);

} // namespace attn
