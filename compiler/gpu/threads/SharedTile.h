// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// A tile of rows of halves in shared memory, as warps read it by ldmatrix: rows are an odd number
// of times 16 bytes, so that eight of them lie in different banks. The features are filled up with
// zeros to a multiple of 8, a chunk of 16 bytes.
#pragma once

#include "compiler/gpu/threads/GpuLane.h"
#include "compiler/gpu/threads/TensorCores.h"

namespace attn {

/// A tile at a place in shared memory.
class SharedTile {
public:
  using Value = mlir::Value;

  SharedTile(const TensorCores &cores, Value pointer, int64_t rows, int64_t features);

  /// Chunks of a row of so many features, and the bytes from a row to the next.
  static int64_t chunksOf(int64_t features) { return llvm::divideCeil(features, chunk); }
  static int64_t rowBytesOf(int64_t features) { return (chunksOf(features) | 1) * 16; }
  /// Chunks of a row of this tile.
  int64_t chunks() const { return chunksOf(features); }

  const int64_t rows;

  /// Copies rows to the tile, eight threads of a block a row: asynchronously where they are of
  /// halves and `areAligned` at 16 bytes holds. `rowOf` gives a pointer that may be read, and
  /// whether the row is there: else it is zeros.
  void fetch(const GlobalRows &from, Value areAligned,
             llvm::function_ref<std::pair<Value, Value>(Value row)> rowOf) const;

  /// A words of rows [firstRow, + 16), chunks [from, + count): a step for each two, and one of 8
  /// features for the last of an odd number.
  llvm::SmallVector<llvm::SmallVector<Value>> left(Value firstRow, int64_t from,
                                                   int64_t count) const;
  /// B words of rows [row, + 8) as columns, k being features: of chunks [from, + count), one each.
  llvm::SmallVector<Value> rowWords(int64_t row, int64_t from, int64_t count) const;
  /// B words of a chunk's columns, k being rows: of 8 rows each from `row` on.
  llvm::SmallVector<Value> columnWords(int64_t row, int64_t chunk, int64_t count) const;
  /// The four words of a row's chunk, and of it that of features 2 * t and 2 * t + 1.
  llvm::SmallVector<Value> chunkWords(Value row, Value chunk) const;
  Value pairWord(Value row, int64_t chunk) const;

private:
  static constexpr int64_t chunk = 8, chunkBytes = 16, threadsOfRow = 8,
                           rowStep = blockThreads / threadsOfRow;

  /// The pointer to a row, and whether the row is there.
  using Rows = llvm::function_ref<std::pair<Value, Value>(Value row)>;

  /// Begins to copy rows of halves that are aligned.
  void copyRows(const GlobalRows &from, Rows rowOf) const;
  /// Copies rows of f32 or unaligned ones by way of registers, and rounds them.
  void convertRows(const GlobalRows &from, Value areAligned, Rows rowOf) const;
  /// Copies one chunk of a row: eight features, aligned.
  void convertChunk(const GlobalRows &from, Value shared, Value global, Value isThere) const;
  /// Copies one chunk element by element; those from the last feature on are zeros.
  void convertElements(const GlobalRows &from, Value shared, Value row, Value first,
                       Value isThere) const;

  const TensorCores &cores;
  Value pointer;
  Value down, part, start;   ///< of a thread: its row, its chunk there, and their place
  Value rowLane, columnLane; ///< of a lane: the addresses of its rows of matrices
  int64_t features, rowBytes;
};

/// body(from, count) for matrices [0, count), as many at a time as one ldmatrix takes.
void forMatrices(int64_t count, llvm::function_ref<void(int64_t, int64_t)> body);

} // namespace attn
