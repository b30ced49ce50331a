// SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// AMX: products of tile registers, 16 rows of 64 bytes each. The runtime has configured all eight
// so (attn::configureTiles). Registers are named, never allocated by LLVM: its allocator spills
// where two shapes of tiles meet, and cannot ask for a load of what is read once.
#pragma once

#include "compiler/kernels/Loops.h"
#include "compiler/target/CpuTarget.h"
#include "compiler/transforms/TargetModel.h"
#include "dialect/AttnDialect.h"

namespace attn {

/// Writes instructions on tile registers, which are numbered from 0 to 7.
class TileRegisters {
public:
  /// Rows of a register, and words of a row.
  static constexpr int64_t rows = TargetModel::tileRows;

  TileRegisters(IndexBuilder index, const CpuTarget &target) : index(index), target(target) {}

  /// The address of element `offsets` of a buffer, as i64.
  mlir::Value addressOf(mlir::Value buffer, mlir::ValueRange offsets) const;
  /// An address `bytes` (index) further on.
  mlir::Value advance(mlir::Value address, mlir::Value bytes) const;

  /// Sets a register to 0.
  void zero(int64_t tile) const;
  /// Rows are `stride` bytes apart. `once`: of what nobody reads soon again, so that it need not
  /// stay in the first-level cache.
  void load(int64_t tile, mlir::Value address, int64_t stride, bool once = false) const;
  void store(int64_t tile, mlir::Value address, int64_t stride) const;
  /// sums += rows * columns: 16 x 16 sums in f32 of pairs of bf16, or in i32 of fours of bytes,
  /// unsigned in `rows`, signed in `columns`.
  void multiply(int64_t sums, int64_t rows, int64_t columns, Precision precision) const;
  /// One product of vectors, or of tiles, that nobody reads, of which the latter overwrites
  /// register 0. A Sapphire Rapids has both in one unit: where there is none of the one for some
  /// 2000 cycles of the other, a store of a register waits for 700 of them, the next product of
  /// tiles for 1100.
  void keepVectorsAwake() const;
  void keepTilesAwake() const;

private:
  /// A constant of LLVM's dialect.
  mlir::Value number(int64_t value, unsigned bits) const;
  /// The instruction, or the function that stands for it where the target has none.
  void call(llvm::StringRef instruction, llvm::ArrayRef<int64_t> tiles, mlir::Value address = {},
            int64_t stride = 0) const;

  IndexBuilder index;
  const CpuTarget &target;
};

} // namespace attn
