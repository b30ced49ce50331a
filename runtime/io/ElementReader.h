// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// The elements of a checkpoint's tensors, wherever they lie and however they are kept.
#pragma once

#include "io/Checkpoint.h"
#include "io/CodeLine.h"

namespace attn {

/// Why elements could not be read; where nothing is named, memory is lacking.
struct ReadFailure {
  const SourceFile *unreadable = nullptr;
  const StoredTensor *groups = nullptr; ///< that name one without scales

  /// The error; `what` was being done.
  attn_status report(const char *what, Error &error) const;
};

/// Reads parts of tensors into memory, which the next read uses again. One thread's own.
class ElementReader {
public:
  /// Makes `view` the elements from `first` on, in memory and of a dtype; false, with a failure,
  /// where they cannot be read.
  bool take(const StoredTensor &source, int64_t first, int64_t count, StoredTensor &view);
  /// Where the elements of a matrix, or of one stack of such, are codes on lines, each 32 of the
  /// last axis on one: 4 where codes have no more bits than these, else 8; 0 where they are not.
  static int lineBits(const StoredTensor &source);
  /// The lines of the elements from `first` on, a multiple of 32 as `count` is, and their codes;
  /// false, with a failure, where they cannot be read.
  bool takeLines(const StoredTensor &source, int64_t first, int64_t count, CodeLine *lines,
                 unsigned char *codes);
  /// Hands over the memory that the last view lies in, if it is this one's.
  void giveMemory(Vector<char> &memory) { memory.swap(isDecoded ? decoded : bytes); }

  ReadFailure failure;

private:
  /// The bytes [first, first + count) of a tensor; null where they cannot be read.
  const char *read(const StoredTensor &source, uint64_t first, size_t count);
  /// The same, to `to`.
  bool readTo(const StoredTensor &source, uint64_t first, size_t count, char *to);
  /// Bytes of each row of a matrix.
  struct Columns {
    size_t first, bytes;
  };
  /// Reads columns of rows of a matrix, side by side to `rows`.
  bool readColumns(const StoredTensor &matrix, Columns columns, int64_t firstRow, int64_t rowCount);

  /// Decodes elements [first, first + count) of blocks to `decoded`.
  bool takeBlocks(const StoredTensor &source, int64_t first, int64_t count);
  /// The same, of what is made of several tensors.
  bool takeQuantized(const QuantizedTensor &source, int64_t first, int64_t count);
  /// The same, of fp8, and of directions with their lengths.
  bool takeScaled(const QuantizedTensor &source, int64_t first, int64_t count);
  /// The same, of MXFP4.
  bool takeFloat4(const QuantizedTensor &source, int64_t first, int64_t count);
  /// The same, of GPTQ and AWQ.
  bool takeInts(const QuantizedTensor &source, int64_t first, int64_t count);
  /// The lines of elements that are GPTQ's or AWQ's, and their codes.
  bool takeIntLines(const QuantizedTensor &source, int64_t first, int64_t count, CodeLine *lines,
                    unsigned char *codes);
  /// The codes of a column of integers, of one whose words are ready.
  struct ColumnCodes;
  ColumnCodes codesOf(const QuantizedTensor &source, int64_t column) const;
  /// Makes `source` the tensor of which something is kept.
  void select(const QuantizedTensor &source);
  /// Makes the words, scales and zeros of a block of columns ready, and the groups of all rows.
  bool loadInts(const QuantizedTensor &source, int64_t block);
  /// Makes the words of these columns ready, turned so that those of a column lie side by side.
  bool loadCodes(const StoredTensor &codes, Columns columns);
  /// Makes the group of each row ready.
  bool loadGroups(const QuantizedTensor &source);
  /// Makes what each direction is multiplied by ready, its length over the one that it has.
  bool loadNorms(const QuantizedTensor &source);
  /// Makes `count` scales ready, whose elements lie at `from`.
  bool loadScales(const StoredTensor &source, const char *from, int64_t count);

  Vector<char> bytes, decoded;
  bool isDecoded = false; ///< the last view lies in `decoded`

  // What is kept of a quantized tensor from one read to the next.
  const QuantizedTensor *loaded = nullptr;
  int64_t loadedBlock = -1; ///< which columns, of integers
  Vector<char> words, rows; ///< codes of these columns, and what is on its way
  Vector<float> scales, zeros;
  Vector<int32_t> groups; ///< of each row
};

} // namespace attn
