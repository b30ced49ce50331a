// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Quantized tensors as GGUF files hold them: blocks of a few codes with a scale.
#pragma once

#include "base/Error.h"
#include "io/CodeLine.h"
#include <cstddef>

namespace attn {

/// A format of blocks. The elements of a block lie side by side along the last axis.
struct BlockFormat {
  const char *name;
  uint32_t number;         ///< of the type in GGUF files
  int32_t elements, bytes; ///< of a block
  /// Decodes one block to `elements` floats, exactly as the format defines them in f32.
  void (*decode)(const unsigned char *block, float *values);
  int lineBits;    ///< of codes, where each 32 are on a line; else 0
  bool areCentred; ///< whether the code in the middle stands for 0 on each line
  /// The line of every 32 elements of a block, if there are such, and the elements' codes.
  void (*lines)(const unsigned char *block, CodeLine *lines);
  void (*codes)(const unsigned char *block, unsigned char *codes);
};

/// The format of a type of GGUF; null where it is none that is read.
const BlockFormat *findBlockFormat(uint32_t number);

/// Appends the names of all formats that are read.
void appendBlockFormats(Text &text);

/// Decodes `count` elements of a tensor's blocks, from element `skip` of the first block on.
void decodeBlocks(const BlockFormat &format, const char *blocks, int64_t skip, int64_t count,
                  float *values);

} // namespace attn
