// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Linears by portable instructions, from sm_80 on: what products on FMA units and on tensor cores
// have in common. A block takes tile after tile of the output. Rows and panels are copied, 16 words
// of k at a time, to a ring of stages in shared memory while earlier ones are multiplied:
//
//   copies    | 0 | 1 | 2 | 3 | 4 | ...
//   products              | 0 | 1 | 2 | ...          of four stages
//
// A word is an f32 or two neighbours of 16 bits, as panels have them. A warp has some rows of the
// tile and a panel's columns, or half of them. Of its threads, with g = lane / 4 and t = lane % 4,
// each has rows g, g + 8, ... and, of every piece of columns, neighbours from width * t on.
#pragma once

#include "compiler/gpu/linear/Linear.h"
#include "compiler/gpu/threads/TensorCores.h"
#include "compiler/kernels/Integers.h"
#include "compiler/kernels/LinearShape.h"

namespace attn {

/// The tile of a block, and the stages that it goes through.
///
///   a stage: rows [rows][16 words] | panels [panels][16][48 words]
///
/// Pieces of 16 bytes are permuted so that warps meet every bank once: piece p of row r lies at
/// p ^ (r / 2 % 4), of a panel's row at p ^ (2 * (r / 2 % 2)).
struct LinearBlockTile {
  static constexpr int64_t stepWords = 16; ///< of k in a stage
  static constexpr int64_t rowBytes = 4 * stepWords, panelRowBytes = 4 * panelWidth,
                           panelBytes = stepWords * panelRowBytes;
  static constexpr int64_t warpsDown = 2;

  int64_t warpRows, warpColumns; ///< of a warp
  int64_t panels;
  int64_t stages;
  int64_t resident; ///< blocks that a multiprocessor has registers for

  /// Sizes that follow: rows of a block, warps beside each other in a panel, threads of a block,
  /// bytes of a stage and of shared memory.
  int64_t rows() const { return warpsDown * warpRows; }
  int64_t warpsOfPanel() const { return panelWidth / warpColumns; }
  int64_t threads() const { return 32 * warpsDown * panels * warpsOfPanel(); }
  int64_t stageBytes() const { return rows() * rowBytes + panels * panelBytes; }
  int64_t sharedBytes() const { return stages * stageBytes() + 8 * rows(); }

  /// `isFma`: products on FMA units.
  static LinearBlockTile of(const LinearShape &shape, TileSize size, bool isFma);
};

/// Emits a kernel; how stages are multiplied is a derived class' business.
class LinearBlock {
public:
  using Value = mlir::Value;

  LinearBlock(LinearKernelOp op, const LinearShape &shape, const LinearBlockTile &tile);
  virtual ~LinearBlock() = default;

  /// Writes the code of the kernel.
  void run(const TilingContext &context);

protected:
  /// Columns of a thread: first + width * t + [0, width) of its warp's.
  struct Piece {
    int64_t first, width;
  };
  /// In the order of its sums: rows, of each all pieces.
  llvm::SmallVector<Piece> pieces;

  /// Adds the products of the stage at an address to the sums of the thread, in whatever order.
  virtual void multiply(Value stage, llvm::MutableArrayRef<Value> sums) = 0;
  /// The sums in the order of rows and pieces.
  virtual llvm::SmallVector<Value> inOrder(llvm::ArrayRef<Value> sums) {
    return llvm::to_vector(sums);
  }

  /// Offset in a stage of a piece of 16 bytes of a row, and of a word of row `row` of the panel of
  /// this warp, `column` being one of the warp's.
  Value rowPlace(Value row, Value piece) const;
  Value panelPlace(Value row, Value column) const;
  /// A pointer to an address in shared memory.
  Value pointer(Value address) const;

  LinearKernelOp op;
  LinearShape shape;
  LinearBlockTile tile;
  mlir::OpBuilder builder;
  mlir::Location loc;
  TensorCores cores;
  IndexBuilder index;
  Integers ints;
  Value lane, g, t;          ///< i32, as all below
  Value warpRow, warpColumn; ///< the warp's first row and column of the tile's, of a panel's

private:
  /// Stages that all of k takes.
  int64_t steps() const { return llvm::divideCeil(shape.steps(), LinearBlockTile::stepWords); }
  /// Elements that 16 bytes of a row have, and whether they lie in one piece wherever k is a
  /// multiple of it.
  int64_t pieceElements() const { return 16 / rows.elementBytes; }
  bool hasPieces() const;

  /// Computes the addresses of a tile's rows, once for all steps.
  void startTile(Value firstRow, Value firstPanel);
  /// Goes through all of k, and gives the sums of the thread.
  llvm::SmallVector<Value> sumsOfTile();
  /// Makes outputs of the sums, and stores those that are in the output.
  void finish(Value firstRow, Value firstPanel, llvm::ArrayRef<Value> sums);

  /// Begins to copy step `step` to the stage at an address.
  void fetch(Value step, Value stage);
  void fetchPieces(Value step, Value stage);
  void fetchWords(Value step, Value stage);
  void fetchPanels(Value step, Value stage);
  /// From a row's first element to element k, in bytes, an index.
  Value bytesTo(Value k) const;
  /// The row's address that startTile has left.
  Value rowPointer(Value row) const;
  /// Two elements of 16 bits, wherever they lie, as a word.
  Value pairAt(Value global) const;

  GlobalRows rows;
  llvm::SmallVector<int64_t> ks; ///< contracted dims of the input, those in one run as one
  llvm::SmallVector<Value> kStrides;
  Value thread, shared, rowCount;
  Value hasWholePieces;                 ///< i1: rows are aligned for pieces
  llvm::SmallVector<Value> rowPointers; ///< of a thread's pieces
  Value panelPointer;                   ///< of a thread's pieces of a panel
};

} // namespace attn
